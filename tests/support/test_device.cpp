#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/device.h"
#include "core/error.h"
#include "kernels/backend.h"

// Linked into the test programs of a build with a device, emulated or a card: every tensor that a
// test makes without naming a device lies there, so that all of them hold for it too. Where the
// build has CUDA and the machine no card, they run on the CPU, unless the environment says
// HEED_TEST_DEVICE=cuda: then they end with the reason.
namespace heed::test {
namespace {

struct OnTheDevice {
  OnTheDevice() {
    const Device device{DeviceKind::cuda};
    try {
      static_cast<void>(kernels::backend(device));
      set_default_device(device);
    } catch (const InputError& missing) {
      const char* asked = std::getenv("HEED_TEST_DEVICE");
      if (asked != nullptr && asked == std::string_view("cuda")) {
        std::fprintf(stderr, "%s\n", missing.what());
        std::exit(2);
      }
    }
  }
};

// Before the tests' own objects of static lifetime, tensors among them.
[[maybe_unused, gnu::init_priority(200)]] const OnTheDevice on_the_device;

}  // namespace
}  // namespace heed::test
