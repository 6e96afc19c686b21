#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/backend.h"
#include "tests/support/error_of.h"

// A build that knows the CPU alone.
namespace heed::kernels {
namespace {

TEST(Backend, SaysThatCudaIsMissing) {
  EXPECT_EQ(test::error_of<InputError>([] {
              backend(Device{DeviceKind::cuda, 0});
            }),
            "[device] cuda was asked for, but this build has no CUDA (configure with "
            "-DHEED_CUDA=ON)");
}

}  // namespace
}  // namespace heed::kernels
