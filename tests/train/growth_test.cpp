#include "train/bench/growth.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/threads.h"
#include "nn/init.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/run_program.h"
#include "tests/train/svg_text.h"
#include "train/bench/training_workloads.h"

namespace heed::test {
namespace {

using namespace heed::train;

GrowthPoint point_of(int64_t size, double flops, double seconds, double mib) {
  GrowthPoint result{size, flops, {}};
  result.result.seconds_per_step = seconds;
  result.result.extra_mib = mib;
  return result;
}

std::vector<Growth> two_growths() {
  return {{"context", {point_of(64, 2e9, 0.010, 5), point_of(256, 8e9, 0.080, 20)}},
          {"threads", {point_of(1, 4e9, 0.020, 7), point_of(2, 4e9, 0.010, 7)}}};
}

TEST(Growth, TableGivesMultiplesOfTheSmallestSize) {
  EXPECT_EQ(growth_table(two_growths()),
            "varied   size  ms a step  times  GFLOP  times  extra MiB  times\n"
            "-------  ----  ---------  -----  -----  -----  ---------  -----\n"
            "context    64      10.00    1.0   2.00    1.0        5.0    1.0\n"
            "context   256      80.00    8.0   8.00    4.0       20.0    4.0\n"
            "threads     1      20.00    1.0   4.00    1.0        7.0    1.0\n"
            "threads     2      10.00    0.5   4.00    1.0        7.0    1.0\n");
}

TEST(Growth, PictureHoldsBothChartsAndEverySeries) {
  const std::string svg = growth_svg(two_growths());
  EXPECT_EQ(fmt::format("{}", fmt::join(texts_of(svg), "|")),
            "Time a flop, the smallest size = 1|times, logarithmic|doublings of the smallest size|"
            "0|1|2|0.5|0.6|0.7|0.8|0.9|1|2|context|threads|"
            "Memory beyond model and optimizer, the smallest size = 1|times, logarithmic|"
            "doublings of the smallest size|0|1|2|1|2|3|4|context|threads");
}

TEST(Growth, AFailureLeavesTheThreadsAsTheyWere) {
  const int before = thread_count();
  const auto fails = [](int64_t) -> std::unique_ptr<Workload> { throw Error("test", "no memory"); };
  EXPECT_EQ(error_of([&] {
              measure_growth({"threads", {before + 1}, fails, true}, 0.001);
            }),
            "[test] no memory");
  EXPECT_EQ(thread_count(), before);
}

TEST(Growth, MeasuresEachSizeAndLeavesTheThreadsAsTheyWere) {
  const int before = thread_count();
  const GrowthAxis axis = {"threads",
                           {1, 2},
                           [](int64_t) {
                             nn::CausalLmOptions options = gpt_small();
                             options.layers = 1;
                             return train_causal_lm(options, 1);
                           },
                           true};
  const Growth growth = measure_growth(axis, 0.001);
  EXPECT_EQ(thread_count(), before);
  ASSERT_EQ(growth.points.size(), 2U);
  for (const GrowthPoint& measured : growth.points) {
    EXPECT_GT(measured.result.seconds_per_step, 0);
    EXPECT_GT(measured.result.extra_mib, 0);
  }
  EXPECT_EQ(growth.points[0].flops, growth.points[1].flops);
}

// 6 flops a weight a token, and attention's with the context.
TEST(Growth, VariesWhatItSays) {
  const nn::SkipInitialization only_counted;
  const auto axes = growth_axes();
  ASSERT_EQ(axes.size(), 5U);
  EXPECT_EQ(axes[0].make(64)->tokens(), 8192);
  EXPECT_EQ(axes[0].make(8192)->tokens(), 8192);
  EXPECT_NEAR(axes[0].make(8192)->flops() - axes[0].make(64)->flops(),
              12.0 * 4 * 128 * (8192 - 64) * 8192, 1);
  EXPECT_GT(axes[1].make(1024)->flops(), 200 * axes[1].make(64)->flops());
  EXPECT_EQ(axes[2].make(64)->flops(), 64 * axes[2].make(1)->flops());
  EXPECT_NEAR(axes[3].make(1000)->flops() - axes[3].make(100)->flops(), 6.0 * 128 * 900 * 768, 1);
}

TEST(Growth, IsMeasuredWithoutAPreset) {
  const TemporaryFolder folder;
  const Outcome outcome = Program(folder, {"bench", "--growth", "g.svg", "gpt-small"}, "").wait();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "[heed] --growth varies gpt-small and prints a table: give it without PRESET and "
            "--json\n");
}

}  // namespace
}  // namespace heed::test
