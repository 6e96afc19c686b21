#include "train/run_log.h"

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/temporary_folder.h"

namespace heed::train {
namespace {

std::string cut(const std::string& log, int64_t last_step, bool validation_due = false) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "log.txt";
  write_file("test", path, log);
  RunLog().open(path, last_step, validation_due);
  return read_file("test", path);
}

constexpr const char* updates =
    "2026-01-31 23:59:58 [run] heed on a machine\n"
    "2026-01-31 23:59:59 [train] step 1/9  epoch 0.50\n"
    "2026-02-01 00:00:00 [train] step 2/9  epoch 1.00\n";
constexpr const char* validation =
    "2026-02-01 00:00:01 [validation] step 2  nll 3.1\n"
    "2026-02-01 00:00:01 [sample] source | output\n";
constexpr const char* later =
    "2026-02-01 00:00:02 [train] warning: step 3: the loss is not finite; skipped\n"
    "2026-02-01 00:00:03 [run] finished\n";

TEST(RunLog, IsCutBeforeWhatComesAgain) {
  const std::string whole = std::string(updates) + validation + later;
  EXPECT_EQ(cut(whole, 3), whole);
  EXPECT_EQ(cut(whole, 2), std::string(updates) + validation);
  EXPECT_EQ(cut(whole, 2, true), updates);
  EXPECT_EQ(cut(std::string(updates) + "2026-02-01 00:0", 2), updates) << "a line cut short";
}

// What a model writes may look like a log.
TEST(RunLog, IsNotCutWhereASampleSpeaksOfSteps) {
  const std::string samples = std::string(updates) +
                              "2026-02-01 00:00:01 [sample] of \" [train] step 90/99\"\n"
                              " [validation] step 90\n"
                              "[train] step 90\n"
                              "on the next day, at [train] step 90\n";
  EXPECT_EQ(cut(samples, 2), samples);
}

}  // namespace
}  // namespace heed::train
