// Configs that mean harm: refused in words, in little time and memory.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "train/config/config.h"
#include "train/config/toml_depth.h"

namespace heed::train {
namespace {

std::string mistakes(const std::string& toml, const std::vector<std::string>& overrides = {}) {
  return test::error_of<InputError>([&] { parse_config(toml, "toy.toml", overrides); });
}

std::string repeated(const std::string& part, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) {
    text += part;
  }
  return text;
}

constexpr size_t deep = 100'000;
const std::string too_deep = " is nested too deep, [section] and key = value are expected";

TEST(HostileConfig, DeepArraysAndTablesAreRefused) {
  const std::string values =
      " is not valid TOML: exceeded maximum nested value depth of 256 "
      "(TOML_MAX_NESTED_VALUES) (in a ";
  EXPECT_EQ(mistakes("x = " + std::string(deep, '[')),
            "[config] toy.toml:1:261" + values + "value)");
  EXPECT_EQ(mistakes("x = " + std::string(deep, '[') + std::string(deep, ']')),
            "[config] toy.toml:1:261" + values + "value)");
  EXPECT_EQ(mistakes("x = " + repeated("{a=", deep)),
            "[config] toy.toml:1:773" + values + "value)");
}

TEST(HostileConfig, DeepKeysAreRefused) {
  const std::string key = repeated("a.", deep) + "a";
  EXPECT_EQ(mistakes("[run]\n" + key + " = 1\n"), "[config] toy.toml:2" + too_deep);
  EXPECT_EQ(mistakes("\n\n[" + key + "]\n"), "[config] toy.toml:3" + too_deep);
  EXPECT_EQ(mistakes("[[" + key + "]]\n"), "[config] toy.toml:1" + too_deep);
  EXPECT_EQ(mistakes("x = [{" + repeated("'a' . ", deep) + "a = 1}]\n"),
            "[config] toy.toml:1" + too_deep);
  EXPECT_EQ(mistakes("", {"train.steps={" + key + "=1}"}),
            "[config] train.steps is a string, an integer is expected: --set train.steps={" + key +
                "=1}");
}

TEST(HostileConfig, DotsWithinTextAreText) {
  const std::string dots(deep, '.');
  for (const std::string& text :
       {"# " + dots + "\n", "x = \"" + dots + "\"\n", "x = '" + dots + "'\n",
        "x = \"\\\"" + dots + "\"\n", "x = \"\"\"\n\"\"" + dots + "\\\"\"\"" + dots + "\"\"\"\n",
        "x = '''" + dots + "''" + dots + "\n'''''\n", "x = 'a' # '" + dots + "\n",
        repeated("a.b.c = 0.5\n", 100)}) {
    EXPECT_EQ(line_nested_too_deep(text), std::nullopt) << text.substr(0, 20);
  }
}

// What the parser would read as a key must not pass for text.
TEST(HostileConfig, DotsBesideTextAreCounted) {
  const std::string dots(17, '.');
  for (const std::string& text :
       {"\n\"a\"" + dots, "\n'a\\'" + dots, "\nx = {a = \"\"\"a\"\"\"\"\", " + dots,
        "\nx = {a = '''a'''', " + dots, "#\n" + dots, "\nx = \"\"" + dots, "\nx = ''" + dots,
        "'\n" + dots, "\nx = \"\\\\\"" + dots}) {
    EXPECT_EQ(line_nested_too_deep(text), 2U) << text;
  }
  EXPECT_EQ(line_nested_too_deep("x = '''\n\n'''\n" + dots), 4U);
  EXPECT_EQ(line_nested_too_deep(std::string(16, '.')), std::nullopt);
}

TEST(HostileConfig, TheHundredthMistakeIsTheLast) {
  const std::string last = "\n[config] 100 mistakes are shown, there may be more";
  const std::string twice = mistakes("[run]\n" + repeated("seed = 1\n", 10'000));
  EXPECT_TRUE(twice.starts_with("[config] key 'seed' is given twice, toy.toml:3\n"));
  EXPECT_TRUE(twice.ends_with("[config] key 'seed' is given twice, toy.toml:102" + last));
  std::string unknown = "[run]\n";
  for (int i = 0; i < 10'000; ++i) {
    unknown += "seed" + std::to_string(i) + " = 1\n";
  }
  const std::string all = mistakes(unknown);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 100);
  EXPECT_TRUE(all.ends_with(last)) << all;
}

}  // namespace
}  // namespace heed::train
