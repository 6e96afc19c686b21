#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda/emulator/emulator.h"
#include "tests/support/error_of.h"

// What a machine without a fitting card is told.
namespace heed::kernels::cuda {
namespace {

class Refusals : public testing::Test {
 protected:
  ~Refusals() override { emulator::machine() = {}; }
};

TEST_F(Refusals, NameTheRemedy) {
  struct Case {
    emulator::Machine machine;
    int index;
    std::string error;
  };
  const std::vector<Case> cases = {
      {{.driver = 0},
       0,
       "[device] cuda was asked for, but no NVIDIA driver is installed; install one, or run on the "
       "cpu (run.device = \"cpu\")"},
      {{.driver = 12020},
       0,
       "[device] the driver runs CUDA up to 12.2, this build uses 13.0: install a newer driver"},
      {{.cards = 0},
       0,
       "[device] cuda was asked for, but there is no card (no CUDA-capable device is detected); "
       "look at nvidia-smi and CUDA_VISIBLE_DEVICES, or run on the cpu (run.device = \"cpu\")"},
      {{.cards = 1}, 1, "[device] cuda:1 was asked for, but there is 1 card"},
      {{.cards = 2}, 3, "[device] cuda:3 was asked for, but there are 2 cards"},
      {{.major = 6, .minor = 1},
       0,
       "[device] emulated device has capability 6.1, heed needs 7.5: take a newer card, or run on "
       "the cpu (run.device = \"cpu\")"},
      {{.major = 8, .minor = 6, .has_code = false},
       0,
       "[device] emulated device has capability 8.6, and nothing in this build (for 9.0) runs on "
       "it: configure with -DCMAKE_CUDA_ARCHITECTURES=86"}};
  for (const Case& c : cases) {
    emulator::machine() = c.machine;
    EXPECT_EQ(test::error_of<InputError>([&] { find_card(c.index); }), c.error);
  }
}

TEST_F(Refusals, DescribeWhatThereIs) {
  emulator::machine() = {.driver = 13010, .cards = 2, .major = 8, .minor = 6};
  EXPECT_EQ(describe(find_card(1)),
            "emulated device, capability 8.6, 8192 MiB, CUDA 13.0 (driver 13.1), built for 9.0");
}

TEST_F(Refusals, ThinNumbersNeedTensorCores) {
  emulator::machine() = {.major = 7, .minor = 5};
  const Card card = find_card(0);
  check_precision(card.properties, Precision::float32);
  for (const Precision precision : {Precision::tf32, Precision::bf16}) {
    EXPECT_EQ(test::error_of<InputError>([&] { check_precision(card.properties, precision); }),
              "[device] emulated device has capability 7.5, tf32 and bf16 begin at 8.0: compute in "
              "float32 (run.precision = \"float32\")");
  }
}

}  // namespace
}  // namespace heed::kernels::cuda
