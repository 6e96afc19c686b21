#include "train/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/version.h"
#include "train/config/config.h"

namespace heed::train {
namespace {

struct Outcome {
  int code;
  std::string out, err;
};

Outcome run(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "heed");
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = run_program(static_cast<int>(arguments.size()), arguments.data());
  std::string out = ::testing::internal::GetCapturedStdout();
  return {code, out, ::testing::internal::GetCapturedStderr()};
}

TEST(Program, ShowsHelp) {
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_NE(help.out.find("\nCommands:\n"), std::string::npos) << help.out;
  EXPECT_NE(help.out.find("\n  config    "), std::string::npos) << help.out;
  EXPECT_NE(help.out.find("`heed COMMAND --help` explains a command."), std::string::npos);
}

TEST(Program, WithoutCommandShowsHelpAsAMistake) {
  const Outcome bare = run({});
  EXPECT_EQ(bare.code, 2);
  EXPECT_EQ(bare.out, "");
  EXPECT_EQ(bare.err, run({"--help"}).out);
}

TEST(Program, ShowsVersionAndBuild) {
  const Outcome shown = run({"--version"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.out.find(std::string("heed ") + version() + "\n"), 0u) << shown.out;
  for (const char* part : {"\n  compiler  ", "\n  cpu       ", "\n  cuda      "}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << shown.out;
  }
}

TEST(Program, NamesTheNearestCommandAndOption) {
  const Outcome command = run({"confg"});
  EXPECT_EQ(command.code, 2);
  EXPECT_EQ(command.out, "");
  EXPECT_EQ(command.err, "[heed] unknown command 'confg'; did you mean 'config'?\n");
  EXPECT_EQ(run({"zzzzzzzz"}).err, "[heed] unknown command 'zzzzzzzz'; see `heed --help`\n");
  const Outcome option = run({"config", "--tomll"});
  EXPECT_EQ(option.code, 2);
  EXPECT_EQ(option.err,
            "[heed] unknown option '--tomll' of `heed config`; did you mean '--toml'?\n");
  EXPECT_EQ(run({"config", "--zzzzzzzz=3"}).err,
            "[heed] unknown option '--zzzzzzzz' of `heed config`; see `heed config --help`\n");
  EXPECT_EQ(run({"--versoin"}).err,
            "[heed] unknown option '--versoin' of `heed`; did you mean '--version'?\n");
  EXPECT_EQ(run({"config", "a.toml", "b.toml"}).err,
            "[heed] 'b.toml' was not expected; see `heed config --help`\n");
}

TEST(Program, WordsAMissingValue) {
  const Outcome missing = run({"config", "--set"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.err,
            "[heed] --set: 1 required SECTION.KEY=VALUE missing; see `heed config --help`\n");
}

TEST(Program, ConfigListsKeysOrToml) {
  EXPECT_EQ(run({"config"}).out, describe_config());
  EXPECT_EQ(run({"config", "--toml"}).out, write_toml(Config()));
  const Outcome overridden = run({"config", "--set", "train.steps=3", "--set", "model.width=8"});
  EXPECT_EQ(overridden.code, 0);
  EXPECT_EQ(overridden.out, write_toml(parse_config("", "", {"train.steps=3", "model.width=8"})));
  EXPECT_NE(overridden.out.find("\nname = \"\" "), std::string::npos)
      << "whoever uses it gives the name: " << overridden.out;
}

TEST(Program, ConfigChecksAFile) {
  EXPECT_EQ(run({"config", ""}).err, "[config] '' does not exist\n");
  const std::string file = HEED_EXAMPLES "/toy_translator.toml";
  const Outcome good = run({"config", file.c_str(), "--set", "train.epochs=1"});
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.out, write_toml(load_config(file, {"train.epochs=1"})));
  const Outcome bad = run({"config", file.c_str(), "--set", "train.step=1", "--set", "a.b=1"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.out, "");
  EXPECT_EQ(bad.err,
            "[config] unknown key 'step' in [train], --set train.step=1; did you mean 'steps'?\n"
            "[config] unknown section 'a', --set a.b=1\n");
}

}  // namespace
}  // namespace heed::train
