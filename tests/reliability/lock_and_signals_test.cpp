#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "core/file.h"
#include "tests/reliability/small_runs.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/run_program.h"
#include "train/metrics.h"
#include "train/run_folder.h"

// What a training in progress answers to signals and to a second one beside it, by real processes.
namespace heed::test {
namespace {

constexpr const char* endless = R"([run]
name = "endless"
log_every = 1
[data]
train = "grammar:200:3-6"
validation = "none"
test = "none"
[model]
width = 8
[train]
steps = 1000000
)";

class LockAndSignals : public testing::Test {
 protected:
  LockAndSignals() { write_file("test", folder_ / "endless.toml", endless); }

  static void wait_until(const std::function<bool()>& reached) {
    for (int i = 0; i < 4000; ++i) {
      if (reached()) {
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << "not reached in 20 s";
  }
  void wait_for_steps(const std::string& run) const {
    const std::string metrics = folder_ / run + "/metrics.jsonl";
    wait_until([&] {
      std::error_code ignored;
      return std::filesystem::exists(metrics) && std::filesystem::file_size(metrics, ignored) > 0;
    });
  }

  void wait_for_log(const std::string& text) const {
    const std::string log = folder_ / "run/log.txt";
    wait_until([&] {
      return std::filesystem::exists(log) && read_file("test", log).find(text) != std::string::npos;
    });
  }

  // Whether a signal was sent to a process that has not taken it yet.
  static bool is_pending(pid_t process, int signal) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    const std::string key = "ShdPnd:";
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(key)) {
        return (std::stoull(line.substr(key.size()), nullptr, 16) >> (signal - 1) & 1U) != 0;
      }
    }
    return false;
  }

  TemporaryFolder folder_;
  TemporaryFolder elsewhere_;  // for a second program's streams
};

TEST_F(LockAndSignals, ASecondTrainingIsRefused) {
  const Program first(folder_, {"train", "endless.toml", "--run", "run"});
  wait_for_steps("run");
  const Outcome second =
      Program(elsewhere_, {"train", folder_ / "endless.toml", "--run", folder_ / "run"}).wait();
  EXPECT_EQ(second.code, 2);
  const std::string begin =
      fmt::format("[run] {} is being trained by process {} on ", folder_ / "run", first.id());
  EXPECT_EQ(second.err.find(begin), 0u) << second.err;
  EXPECT_TRUE(
      second.err.ends_with("; wait for its end or stop it, or name another folder with "
                           "--run\n"))
      << second.err;
  // Who only reads is let in.
  EXPECT_EQ(Program(elsewhere_, {"inspect", folder_ / "run"}).wait().code, 0);
  ASSERT_EQ(kill(first.id(), SIGINT), 0);
  EXPECT_EQ(first.wait().code, 130);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/lock"));
}

TEST_F(LockAndSignals, AKilledTrainingLeavesNoLock) {
  const Program killed(folder_, {"train", "endless.toml", "--run", "run"});
  wait_for_steps("run");
  ASSERT_TRUE(killed.kill_now());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/lock"));
  const Outcome next =
      Program(folder_, {"train", "endless.toml", "--run", "run", "--set", "train.steps=1"}).wait();
  EXPECT_EQ(next.code, 0) << next.err;
}

class EachSignal : public LockAndSignals, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Signals, EachSignal, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_P(EachSignal, SavesAndEnds) {
  const Program program(folder_, {"train", "endless.toml", "--run", "run"});
  wait_for_steps("run");
  ASSERT_EQ(kill(program.id(), GetParam()), 0);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.code, 128 + GetParam());
  const train::RunFolder run(folder_ / "run");
  const int64_t step = run.load_latest().state.step;
  EXPECT_GE(step, 1);
  EXPECT_EQ(train::read_metrics(run.metrics_path()).back().step, step);
  EXPECT_TRUE(outcome.err.ends_with(
      fmt::format("\n[run] stopped at step {}; the same command goes on from here\n"
                  "[run] curves and samples: run/report/index.html\n",
                  step)))
      << outcome.err;
}

// A corpus that never comes to an end of its own: nothing is there to save yet.
TEST_P(EachSignal, EndsAtOnceWhileACorpusIsRead) {
  const std::string pipe = folder_ / "pipe.tsv";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Program program(folder_,
                        {"train", "endless.toml", "--run", "run", "--set", "data.train=" + pipe});
  std::ofstream writer(pipe);  // opens when the program reads
  writer << "a\tb\n" << std::flush;
  ASSERT_EQ(kill(program.id(), GetParam()), 0);
  EXPECT_EQ(program.wait().code, 128 + GetParam());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

// Held while it saves its second step: the first signal waits for the end of that, the second does
// not.
TEST_F(LockAndSignals, ASecondSignalEndsAtOnceAndLosesNothingSaved) {
  if (*HEED_SANITIZE != '\0') {
    GTEST_SKIP() << "a sanitizer's runtime has to come first, before what is preloaded";
  }
  const Program program(
      folder_, {"train", "endless.toml", "--run", "run", "--set", "train.checkpoint_every=1"}, "",
      {"LD_PRELOAD=" HEED_FAILING_CALLS, "HEED_FAIL_CALL=rename",
       "HEED_FAIL_PATH=step-00000002.safetensors$", "HEED_FAIL_WITH=hold"});
  wait_for_log("[train] step 2/");
  ASSERT_EQ(kill(program.id(), SIGINT), 0);
  while (is_pending(program.id(), SIGINT)) {  // two at once would be one
  }
  EXPECT_EQ(waitpid(program.id(), nullptr, WNOHANG), 0) << "it has ended";
  ASSERT_EQ(kill(program.id(), SIGINT), 0);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.err.find("stopped at step"), std::string::npos) << outcome.err;
  EXPECT_EQ(train::RunFolder(folder_ / "run").load_latest().state.step, 1);
}

// A validation that is cut short, by a signal that comes just before it, is made up for when the
// run goes on.
TEST_F(LockAndSignals, AStoppedValidationIsMadeUpFor) {
  if (*HEED_SANITIZE != '\0') {
    GTEST_SKIP() << "a sanitizer's runtime has to come first, before what is preloaded";
  }
  const Arguments training = {"train", "endless.toml",
                              "--run", "run",
                              "--set", "data.validation=grammar:200:3-6",
                              "--set", "train.validate_every=2",
                              "--set", "train.steps=3"};
  Arguments straight = training;
  straight[3] = "straight";
  ASSERT_EQ(Program(folder_, straight).wait().code, 0);
  const Outcome stopped = Program(folder_, training, "",
                                  {"LD_PRELOAD=" HEED_FAILING_CALLS, "HEED_FAIL_CALL=write",
                                   "HEED_FAIL_PATH=metrics.jsonl", "HEED_FAIL_SKIP=1",
                                   "HEED_FAIL_TIMES=1", "HEED_FAIL_WITH=interrupt"})
                              .wait();
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  const train::RunFolder run(folder_ / "run");
  ASSERT_EQ(run.load_latest().state.step, 2);
  ASSERT_TRUE(run.load_latest().state.validation_due) << stopped.err;
  // Killed after the event is written, before the checkpoint is.
  Program(folder_, training, "",
          {"LD_PRELOAD=" HEED_FAILING_CALLS, "HEED_FAIL_CALL=rename",
           "HEED_FAIL_PATH=step-00000002.safetensors$", "HEED_FAIL_WITH=kill"})
      .wait_killed();
  ASSERT_TRUE(run.load_latest().state.validation_due);
  ASSERT_EQ(train::read_metrics(run.metrics_path()).back().event, "validation");
  ASSERT_EQ(Program(folder_, training).wait().code, 0);
  EXPECT_EQ(timeless_log(run), timeless_log(train::RunFolder(folder_ / "straight")));
  EXPECT_TRUE(read_file("test", run.last_path()) ==
              read_file("test", folder_ / "straight/checkpoints/last.safetensors"));
  const auto events = train::read_metrics(run.metrics_path());
  const auto expected = train::read_metrics(folder_ / "straight/metrics.jsonl");
  ASSERT_EQ(events.size(), expected.size());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].event, expected[i].event);
    EXPECT_EQ(events[i].step, expected[i].step);
    EXPECT_EQ(events[i].value("loss"), expected[i].value("loss"));
  }
}

}  // namespace
}  // namespace heed::test
