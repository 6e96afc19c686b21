#include <gtest/gtest.h>

#include "core/device.h"
#include "core/error.h"
#include "kernels/backend.h"

// Linked into the test programs of a build with a device, emulated or a card: every tensor that a
// test makes without naming a device lies there, so that all of them hold for it too. Where the
// build has CUDA and the machine no card, they run on the CPU.
namespace heed::test {
namespace {

class OnTheDevice final : public testing::Environment {
 public:
  void SetUp() override {
    const Device device{DeviceKind::cuda};
    try {
      static_cast<void>(kernels::backend(device));
    } catch (const InputError&) {
      return;
    }
    set_default_device(device);
  }
};

[[maybe_unused]] const auto* const registered = testing::AddGlobalTestEnvironment(new OnTheDevice);

}  // namespace
}  // namespace heed::test
