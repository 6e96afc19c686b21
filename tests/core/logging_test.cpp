#include "core/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace heed {
namespace {

using ::testing::ElementsAre;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

class Logging : public ::testing::Test {
 protected:
  ~Logging() override {
    log::set_file("");
    log::set_level(log::Level::info);
  }

  std::string file(const std::string& name) const { return folder_ / name; }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(Logging, LinesCarryTheirAreaAndTheirWeight) {
  CaptureStderr();
  log::info("data", "{} pairs", 3);
  log::warning("train", "no {} set", "validation");
  log::error("run", "disk full");
  EXPECT_EQ(GetCapturedStderr(),
            "[data] 3 pairs\n[train] warning: no validation set\n[run] error: disk full\n");
}

TEST_F(Logging, LinesThatWereHeldBeginTheFile) {
  CaptureStderr();
  log::info("run", "before");
  log::hold();
  log::info("data", "held");
  log::set_file(file("log.txt"));
  log::info("train", "after");
  log::set_file(file("next.txt"));
  log::info("train", "later");
  EXPECT_EQ(GetCapturedStderr(), "[run] before\n[data] held\n[train] after\n[train] later\n");
  const auto lines = lines_of(file("log.txt"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].ends_with(" [data] held")) << lines[0];
  EXPECT_TRUE(lines[1].ends_with(" [train] after")) << lines[1];
  EXPECT_EQ(lines_of(file("next.txt")).size(), 1U) << "they are written once";
}

TEST_F(Logging, ATextIsNeverTakenForAPattern) {
  CaptureStderr();
  log::write(log::Level::info, "data", "100% {} %v {0:d");
  EXPECT_EQ(GetCapturedStderr(), "[data] 100% {} %v {0:d\n");
}

TEST_F(Logging, LevelsBelowTheChosenOneAreSilent) {
  CaptureStderr();
  log::debug("a", "1");
  log::set_level(log::Level::warning);
  log::info("a", "2");
  log::warning("a", "3");
  log::set_level(log::Level::debug);
  log::debug("a", "4");
  log::set_level(log::Level::off);
  log::error("a", "5");
  EXPECT_EQ(GetCapturedStderr(), "[a] warning: 3\n[a] 4\n");
  EXPECT_EQ(log::level(), log::Level::off);
}

TEST_F(Logging, AFileGetsTheSameLinesWithTheTime) {
  CaptureStderr();
  log::info("before", "not in the file");
  log::set_file(file("log.txt"));
  log::info("data", "3 pairs");
  log::warning("train", "slow");
  log::set_file("");
  log::info("after", "not in the file");
  GetCapturedStderr();
  const auto lines = lines_of(file("log.txt"));
  ASSERT_EQ(lines.size(), 2u);
  const std::regex time(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d )");
  EXPECT_THAT((std::vector{std::regex_replace(lines[0], time, "TIME "),
                           std::regex_replace(lines[1], time, "TIME ")}),
              ElementsAre("TIME [data] 3 pairs", "TIME [train] warning: slow"));
}

TEST_F(Logging, AFileIsContinuedNotReplaced) {
  CaptureStderr();
  for (const char* text : {"first", "second"}) {
    log::set_file(file("log.txt"));
    log::info("run", "{}", text);
    log::set_file("");
  }
  GetCapturedStderr();
  const auto lines = lines_of(file("log.txt"));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].ends_with("[run] first")) << lines[0];
  EXPECT_TRUE(lines[1].ends_with("[run] second")) << lines[1];
}

TEST_F(Logging, LinesAreOnDiskAtOnce) {
  CaptureStderr();
  log::set_file(file("log.txt"));
  log::info("run", "still open");
  EXPECT_EQ(lines_of(file("log.txt")).size(), 1u);
  GetCapturedStderr();
}

TEST_F(Logging, AFileThatCannotBeOpenedIsNamed) {
  std::ofstream(file("plain")) << "no folder";
  const std::string path = file("plain") + "/log.txt";
  EXPECT_EQ(test::error_of([&] { log::set_file(path); }),
            "[log] Failed opening file " + path + " for writing: Not a directory");
  CaptureStderr();
  log::info("run", "goes on");
  EXPECT_EQ(GetCapturedStderr(), "[run] goes on\n");
}

TEST_F(Logging, LinesOfSeveralThreadsStayWhole) {
  constexpr int threads = 4;
  constexpr int each = 200;
  CaptureStderr();
  log::set_file(file("log.txt"));
  {
    std::vector<std::jthread> workers;
    workers.reserve(threads);
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([t] {
        for (int i = 0; i < each; ++i) {
          log::info("worker", "{} of {}", i, t);
        }
      });
    }
  }
  log::set_file("");
  const std::string shown = GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(shown, '\n'), threads * each);
  const auto lines = lines_of(file("log.txt"));
  ASSERT_EQ(lines.size(), static_cast<size_t>(threads * each));
  const std::regex whole(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[worker\] \d+ of [0-3])");
  for (const std::string& line : lines) {
    EXPECT_TRUE(std::regex_match(line, whole)) << line;
  }
}

TEST_F(Logging, TheFileMayChangeWhileOtherThreadsWrite) {
  constexpr int each = 500;
  CaptureStderr();
  {
    const std::jthread worker([] {
      for (int i = 0; i < each; ++i) {
        log::info("worker", "{}", i);
        log::debug("worker", "silent");
      }
    });
    for (int i = 0; i < 50; ++i) {
      log::set_level(log::Level::info);
      log::set_file(file(i % 2 == 0 ? "even.txt" : "odd.txt"));
    }
  }
  log::set_file("");
  const std::string shown = GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(shown, '\n'), each);
}

}  // namespace
}  // namespace heed
