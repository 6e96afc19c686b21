#include "core/device.h"
#include "core/error.h"
#include "kernels/backend.h"

// Linked into the test programs of a build with a device, emulated or a card: every tensor that a
// test makes without naming a device lies there, so that all of them hold for it too. Where the
// build has CUDA and the machine no card, they run on the CPU.
namespace heed::test {
namespace {

struct OnTheDevice {
  OnTheDevice() {
    const Device device{DeviceKind::cuda};
    try {
      static_cast<void>(kernels::backend(device));
      set_default_device(device);
    } catch (const InputError&) {
      return;
    }
  }
};

// Before the tests' own objects of static lifetime, tensors among them.
[[maybe_unused, gnu::init_priority(200)]] const OnTheDevice on_the_device;

}  // namespace
}  // namespace heed::test
