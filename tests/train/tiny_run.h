#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/file.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/run_program.h"

namespace heed::test {

inline constexpr const char* tiny_config = R"([run]
name = "tiny"
log_every = 1
[data]
train = "grammar:200:3-6"
validation = "grammar:20:3-6"
test = "grammar:20:3-6"
[model]
width = 8
[train]
steps = 3
)";

// Commands on a trained translator. One training serves all tests of a suite: runs/tiny.
class TinyRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_file("test", *folder_ / "tiny.toml", tiny_config);
    training_ = run({"train", "tiny.toml"});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override { ASSERT_EQ(training_.code, 0) << training_.err; }

  static Outcome run(const Arguments& arguments, const std::string& input = "") {
    return Program(*folder_, arguments, input).wait();
  }
  // The command is refused as the user's mistake: exit code 2, nothing on stdout, this on stderr.
  static void expect_refused(const Arguments& arguments, const std::string& text,
                             const std::string& input = "") {
    const Outcome outcome = run(arguments, input);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(without_machine(outcome.err), text);
  }

  inline static TemporaryFolder* folder_ = nullptr;
  inline static Outcome training_;
};

}  // namespace heed::test
