#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdlib>
#include <map>
#include <string>

#include "kernels/backend.h"

// Linked into the test programs of the kernels: HEED_TEST_VECTORS=AVX2, SSE4 or SCALAR keeps
// Highway from wider vectors, so that a machine that has them runs the code of those that have not.
namespace heed::test {
namespace {

class VectorWidth : public testing::Environment {
 public:
  void SetUp() override {
    const char* const asked = std::getenv("HEED_TEST_VECTORS");
    if (asked == nullptr) {
      return;
    }
    // The better a target, the lower its bit; below all of them stands plain C++.
    const std::map<std::string, int64_t> levels = {
        {"AVX2", HWY_AVX2}, {"SSE4", HWY_SSE4}, {"SCALAR", HWY_EMU128}};
    const auto level = levels.find(asked);
    ASSERT_NE(level, levels.end()) << "HEED_TEST_VECTORS=" << asked;
    const bool has_it = (hwy::SupportedTargets() & level->second) != 0;
    hwy::DisableTargets(level->second - 1);
    const std::string description = kernels::backend(Device{}).description();
    if (level->first == "SCALAR") {
      EXPECT_THAT(description, testing::HasSubstr("scalar by Highway"));
    } else if (has_it) {
      EXPECT_THAT(description, testing::HasSubstr(level->first + " by Highway"));
    }
  }
};

// GoogleTest owns and deletes it.
[[maybe_unused]] testing::Environment* const vector_width =
    testing::AddGlobalTestEnvironment(new VectorWidth);

}  // namespace
}  // namespace heed::test
