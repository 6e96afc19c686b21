#include "train/report/progress.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "train/report/display_width.h"

namespace heed::train {
namespace {

const ProgressState halfway = {.step = 500,
                               .total_steps = 1000,
                               .epoch = 1.25,
                               .loss = 3.2141,
                               .learning_rate = 1e-3,
                               .tokens_per_second = 12345,
                               .seconds_left = 125};

TEST(Progress, FormatsALine) {
  EXPECT_EQ(progress_line(halfway, 80),
            "━━━━━━━────── 500/1000  epoch 1.25  loss 3.214  lr 0.001  12.3k tok/s  2:05 left");
  EXPECT_EQ(progress_line(halfway, 60), "500/1000  epoch 1.25  loss 3.214  12.3k tok/s  2:05 left");
  EXPECT_EQ(progress_line(halfway, 20), "500/1000  loss 3.214");
  EXPECT_EQ(progress_line(halfway, 4), "500…");
  for (int width = 0; width < 140; ++width) {
    EXPECT_LE(display_width(progress_line(halfway, width)), width);
  }
}

TEST(Progress, LeavesOutWhatIsUnknown) {
  EXPECT_EQ(progress_line({.step = 7,
                           .loss = std::numeric_limits<double>::quiet_NaN(),
                           .tokens_per_second = std::numeric_limits<double>::infinity()},
                          80),
            "step 7  epoch 0.00  loss nan  lr 0");
}

TEST(Progress, WordsTimeAndRate) {
  ProgressState state = halfway;
  const auto tail = [&](double seconds, double rate) {
    state.seconds_left = seconds;
    state.tokens_per_second = rate;
    const std::string line = progress_line(state, 90);
    return line.substr(line.find("lr 0.001  ") + 10);
  };
  EXPECT_EQ(tail(0, 1), "1 tok/s  0:00 left");
  EXPECT_EQ(tail(59.6, 999.4), "999 tok/s  1:00 left");
  EXPECT_EQ(tail(3661, 999.6), "1.0k tok/s  1:01:01 left");
  EXPECT_EQ(tail(50 * 3600, 2.5e6), "2.5M tok/s  2d 2h left");
}

TEST(Progress, RewritesItsLineAndClearsIt) {
  testing::internal::CaptureStderr();
  Progress progress(true);
  progress.update(halfway);
  progress.update(halfway);  // too soon to be drawn
  progress.finish();
  progress.finish();
  const std::string written = testing::internal::GetCapturedStderr();
  const std::string clear = "\r\x1b[2K";
  ASSERT_TRUE(written.starts_with(clear));
  ASSERT_TRUE(written.ends_with(clear));
  const std::string line = written.substr(clear.size(), written.size() - 2 * clear.size());
  EXPECT_NE(line.find("500/1000"), std::string::npos) << line;
  EXPECT_EQ(line.find_first_of("\r\n\x1b"), std::string::npos) << "drawn once";
}

TEST(Progress, IsSilentWithoutATerminal) {
  testing::internal::CaptureStderr();
  Progress progress(false);
  progress.update(halfway);
  progress.finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace heed::train
