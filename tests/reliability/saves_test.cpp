#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/reliability/small_runs.h"

// Each system call of a save fails in turn, or is where the process dies (failing_calls.cpp).
namespace heed::test {
namespace {

constexpr const char* second = "run/checkpoints/step-00000002.safetensors";

struct FailingCall {
  const char* name;
  std::string call, path;
  int skip = 0;  // such calls of the start and of the saves before step 2
  int error = 0;
  std::string said;  // empty: the save does without
};

void PrintTo(const FailingCall& failing, std::ostream* out) { *out << failing.name; }

const std::vector<FailingCall>& failing_calls() {
  static const std::vector<FailingCall> calls = {
      {"Open", "open", "step-00000002.safetensors.tmp", 0, EACCES,
       fmt::format("[checkpoint] {}.tmp: cannot be created: Permission denied", second)},
      {"Write", "write", "step-00000002.safetensors.tmp", 0, ENOSPC,
       fmt::format("[checkpoint] {}: cannot be written: No space left on device", second)},
      {"Sync", "fsync", "step-00000002.safetensors.tmp", 0, EIO,
       fmt::format("[checkpoint] {}: cannot be written: Input/output error", second)},
      {"Close", "close", "step-00000002.safetensors.tmp", 0, EDQUOT,
       fmt::format("[checkpoint] {}: cannot be written: Disk quota exceeded", second)},
      {"Rename", "rename", "step-00000002.safetensors$", 0, EROFS,
       fmt::format("[checkpoint] {}: cannot be renamed into place: Read-only file system", second)},
      {"SyncOfTheFolder", "fsync", "run/checkpoints$", 4, EIO,
       fmt::format("[checkpoint] {}: its folder cannot be synced: Input/output error", second)},
      {"Link", "link", "last.safetensors.tmp", 2, EPERM, ""},
      {"RenameOfLast", "rename", "last.safetensors$", 2, ENOSPC,
       "[checkpoint] run/checkpoints/last.safetensors: cannot be renamed into place: No space left "
       "on device"},
      {"SyncOfLast", "fsync", "run/checkpoints$", 5, EIO,
       "[checkpoint] run/checkpoints/last.safetensors: its folder cannot be synced: Input/output "
       "error"},
      {"WriteOfMetrics", "write", "metrics.jsonl", 1, ENOSPC,
       "[metrics] run/metrics.jsonl: cannot be written: No space left on device"},
      {"SyncOfMetrics", "fsync", "metrics.jsonl", 2, EIO,
       "[metrics] run/metrics.jsonl: cannot be written: Input/output error"},
  };
  return calls;
}

Arguments training_of(const TemporaryFolder& folder, const std::string& run) {
  return small_training(folder, run,
                        {"train.steps=4", "data.train=grammar:40:3-6", "run.log_every=1"});
}

Arguments environment_of(const FailingCall& failing, const std::string& with, int times) {
  return {"LD_PRELOAD=" HEED_FAILING_CALLS,         "HEED_FAIL_CALL=" + failing.call,
          "HEED_FAIL_PATH=" + failing.path,         fmt::format("HEED_FAIL_SKIP={}", failing.skip),
          fmt::format("HEED_FAIL_TIMES={}", times), "HEED_FAIL_WITH=" + with};
}

class Saves : public testing::Test {
 protected:
  void SetUp() override {
    if (*HEED_SANITIZE != '\0') {
      GTEST_SKIP() << "a sanitizer's runtime has to come first, before what is preloaded";
    }
    ASSERT_EQ(Program(folder_, training_of(folder_, "straight")).wait().code, 0);
  }
  // What is there can be gone on with, to the end that a run without trouble has.
  void expect_goes_on() {
    const int64_t step = run_.load_latest().state.step;
    EXPECT_GE(step, 1);
    EXPECT_LE(step, 2);
    const Outcome next = Program(folder_, training_of(folder_, "run")).wait();
    EXPECT_EQ(next.code, 0) << next.err;
    expect_same_run(run_, train::RunFolder(folder_ / "straight"));
  }

  TemporaryFolder folder_;
  train::RunFolder run_{folder_ / "run"};
};

class EachCall : public Saves, public testing::WithParamInterface<FailingCall> {};
INSTANTIATE_TEST_SUITE_P(Calls, EachCall, testing::ValuesIn(failing_calls()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(EachCall, ThatFailsStopsTheRunInWords) {
  const FailingCall& failing = GetParam();
  const auto environment = environment_of(failing, fmt::format("{}", failing.error), 100);
  const Outcome outcome = Program(folder_, training_of(folder_, "run"), "", environment).wait();
  if (failing.said.empty()) {
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    expect_same_run(run_, train::RunFolder(folder_ / "straight"));
    return;
  }
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.err.ends_with("\n" + failing.said +
                                    "; the run stops at step 2, what was saved before stands\n"))
      << outcome.err;
  for (const std::string& name : checkpoint_names(run_)) {
    EXPECT_FALSE(name.ends_with(".tmp")) << name;
  }
  expect_goes_on();
}

TEST_P(EachCall, ThatFailsOnceIsLeftBehindWhenTheConfigSaysSo) {
  const FailingCall& failing = GetParam();
  const auto environment = environment_of(failing, fmt::format("{}", failing.error), 1);
  Arguments training = training_of(folder_, "run");
  training.insert(training.end(), {"--set", "train.save_failure=continue"});
  const Outcome outcome = Program(folder_, training, "", environment).wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  if (!failing.said.empty() && failing.call != "write") {  // a second try at metrics is enough
    EXPECT_NE(outcome.err.find("[run] warning: step 2 is not saved: " + failing.said + "\n"),
              std::string::npos)
        << outcome.err;
  }
  EXPECT_EQ(run_.load_latest().state.step, 4);
  EXPECT_EQ(timeless_metrics(run_), timeless_metrics(train::RunFolder(folder_ / "straight")));
}

TEST_P(EachCall, IsNoPlaceToDieAt) {
  const auto environment = environment_of(GetParam(), "kill", 1);
  Program(folder_, training_of(folder_, "run"), "", environment).wait_killed();
  expect_goes_on();
}

// Known before the first update: nothing is lost.
TEST_F(Saves, AFullDiskIsSeenBeforeTheFirstUpdate) {
  const FailingCall full{"", "statvfs", "checkpoints", 0, 0, ""};
  const Outcome outcome =
      Program(folder_, training_of(folder_, "run"), "", environment_of(full, "0", 100)).wait();
  EXPECT_EQ(outcome.code, 1);
  const size_t last = outcome.err.rfind("\n[checkpoint] ") + 1;
  EXPECT_EQ(outcome.err.substr(last).find(
                "[checkpoint] run/checkpoints: 0.0 MB are free, 0.3 MB more are needed: "
                "checkpoints of "),
            0u)
      << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with(
      " MB, of which 2 are kept (train.keep_checkpoints), besides the best and the one being "
      "written; make room, or name a folder elsewhere with --run\n"))
      << outcome.err;
  EXPECT_EQ(outcome.err.find("[train] step 1"), std::string::npos);
}

// What is refused is not what the run is taken up with next time.
TEST_F(Saves, ARefusedStartLeavesTheConfigAlone) {
  const Arguments training = training_of(folder_, "run");
  ASSERT_EQ(Program(folder_, training).wait().code, 0);
  const std::string before = read_file("test", run_.config_path());
  Arguments longer = training;
  longer.insert(longer.end(), {"--set", "train.steps=9", "--set", "train.keep_checkpoints=7"});
  const FailingCall full{"", "statvfs", "checkpoints", 0, 0, ""};
  EXPECT_EQ(Program(folder_, longer, "", environment_of(full, "0", 100)).wait().code, 1);
  EXPECT_EQ(read_file("test", run_.config_path()), before);
}

// What is kept is never more than there will be.
TEST_F(Saves, RoomIsAskedForNoMoreThanIsWritten) {
  Arguments training = training_of(folder_, "run");
  training.insert(training.end(), {"--set", "train.keep_checkpoints=1000000"});
  const FailingCall full{"", "statvfs", "checkpoints", 0, 0, ""};
  const Outcome outcome = Program(folder_, training, "", environment_of(full, "0", 100)).wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find(" MB, of which 6 are kept (train.keep_checkpoints), "),
            std::string::npos)
      << outcome.err;
}

TEST_F(Saves, ADiskThatFillsUpIsSeenBeforeASave) {
  const FailingCall full{"", "statvfs", "checkpoints", 3, 0, ""};  // the start, steps 0 and 1
  const Outcome outcome =
      Program(folder_, training_of(folder_, "run"), "", environment_of(full, "0", 100)).wait();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find(fmt::format("\n[checkpoint] {}: cannot be written: 0.0 MB are free, "
                                         "it takes ",
                                         second)),
            std::string::npos)
      << outcome.err;
  expect_goes_on();
}

// A training under a strict umask keeps to it in every file.
TEST_F(Saves, FilesHaveTheModeOfTheUmask) {
  const mode_t before = umask(027);
  const Outcome outcome = Program(folder_, training_of(folder_, "run")).wait();
  umask(before);
  ASSERT_EQ(outcome.code, 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run_.path())) {
    struct stat status {};
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, entry.is_directory() ? 0750U : 0640U) << entry.path();
  }
}

TEST_F(Saves, UnfinishedFilesAreSwept) {
  run_.create();  // a start that was killed before its first checkpoint
  const std::string theirs = run_.path() + "/notes.tmp";
  write_file("test", theirs, "mine");
  const std::vector<std::string> stale = {"/checkpoints/step-00000009.safetensors.tmp",
                                          "/checkpoints/last.safetensors.tmp",
                                          "/config.toml.tmp",
                                          "/metrics.jsonl.tmp",
                                          "/report/curves.html.tmp",
                                          "/report/index.html.tmp"};
  for (const std::string& name : stale) {
    write_file("test", run_.path() + name, "half");
  }
  ASSERT_EQ(Program(folder_, training_of(folder_, "run")).wait().code, 0);
  for (const std::string& name : stale) {
    EXPECT_FALSE(std::filesystem::exists(run_.path() + name)) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(theirs));
}

// Damaged checkpoints are set aside, so that they neither count as kept nor are met again.
TEST_F(Saves, ADamagedLastCheckpointGivesWayToTheOneBefore) {
  ASSERT_EQ(Program(folder_, training_of(folder_, "run")).wait().code, 0);
  const std::string last = run_.checkpoint_path(4);
  std::filesystem::resize_file(last, std::filesystem::file_size(last) / 2);
  const Outcome next = Program(folder_, training_of(folder_, "run")).wait();
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_NE(next.err.find("[run] warning: passed over: [checkpoint] run/checkpoints/"
                          "step-00000004.safetensors is damaged: its content does not match its "
                          "checksum; run/checkpoints/step-00000003.safetensors is used instead\n"),
            std::string::npos)
      << next.err;
  EXPECT_NE(next.err.find("[run] run goes on from step 3\n"), std::string::npos) << next.err;
  ASSERT_TRUE(std::filesystem::remove(last + ".damaged"));
  expect_same_run(run_, train::RunFolder(folder_ / "straight"));
}

// A disk that has a bad day: nothing is passed over, nothing set aside.
TEST_F(Saves, AnUnreadableLastCheckpointStopsTheRun) {
  ASSERT_EQ(Program(folder_, training_of(folder_, "run")).wait().code, 0);
  const FailingCall bad{"", "open", "step-00000004.safetensors$", 0, 0, ""};
  const Outcome outcome =
      Program(folder_, training_of(folder_, "run"), "", environment_of(bad, "5", 100)).wait();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "[checkpoint] run/checkpoints/step-00000004.safetensors: cannot be read: Input/output "
            "error\n");
  expect_same_run(run_, train::RunFolder(folder_ / "straight"));
}

// The run is over by then: it ends as if nobody had asked it to stop.
TEST_F(Saves, ASignalDuringTheLastSaveChangesNothing) {
  const FailingCall late{"", "rename", "step-00000004.safetensors$", 0, 0, ""};
  const Outcome outcome =
      Program(folder_, training_of(folder_, "run"), "", environment_of(late, "interrupt", 1))
          .wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with("[run] curves and samples: run/report/index.html\n"))
      << outcome.err;
  expect_same_run(run_, train::RunFolder(folder_ / "straight"));
}

TEST_F(Saves, AReportThatFailsLeavesTheRunFinished) {
  const FailingCall full{"", "open", "report/index.html.tmp", 0, 0, ""};
  const Outcome outcome =
      Program(folder_, training_of(folder_, "run"), "", environment_of(full, "28", 1)).wait();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(
      outcome.err.ends_with("[run] warning: no report is made: [heed] "
                            "run/report/index.html.tmp: cannot be created: No space left "
                            "on device\n"))
      << outcome.err;
}

}  // namespace
}  // namespace heed::test
