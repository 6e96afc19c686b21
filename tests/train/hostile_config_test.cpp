// Configs that mean harm: refused in words, in little time and memory.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "train/config/config.h"
#include "train/config/unsafe_toml.h"

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

size_t line_of(const std::string& toml) {
  const auto unsafe = find_unsafe_toml(toml);
  return unsafe ? unsafe->line : 0;
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
  EXPECT_EQ(mistakes("[run]\n" + key + " = 1\n"), "[config] toy.toml:2:34" + too_deep);
  EXPECT_EQ(mistakes("\n\n[" + key + "]\n"), "[config] toy.toml:3:35" + too_deep);
  EXPECT_EQ(mistakes("[[" + key + "]]\n"), "[config] toy.toml:1:36" + too_deep);
  EXPECT_EQ(mistakes("x = [{" + repeated("'a' . ", deep) + "a = 1}]\n"),
            "[config] toy.toml:1:107" + too_deep);
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
    EXPECT_FALSE(find_unsafe_toml(text)) << text.substr(0, 20);
  }
}

// What the parser would read as a key must not pass for text.
TEST(HostileConfig, DotsBesideTextAreCounted) {
  const std::string dots(17, '.');
  for (const std::string& text :
       {"\n\"a\"" + dots, "\n'a\\'" + dots, "\nx = {a = \"\"\"a\"\"\"\"\", " + dots,
        "\nx = {a = '''a'''', " + dots, "#\n" + dots, "\nx = \"\"" + dots, "\nx = ''" + dots,
        "'\n" + dots, "\nx = \"\\\\\"" + dots}) {
    EXPECT_EQ(line_of(text), 2U) << text;
  }
  EXPECT_EQ(line_of("x = '''\n\n'''\n" + dots), 4U);
  EXPECT_FALSE(find_unsafe_toml(std::string(16, '.')));
}

TEST(HostileConfig, OutsideOfTextAllIsAscii) {
  const std::string beyond = " is not valid TOML: a character beyond ASCII; text stands in quotes";
  EXPECT_EQ(mistakes("[run]\nname = \"é\" \u00A0\n"), "[config] toy.toml:2:12" + beyond);
  EXPECT_EQ(mistakes("[run]\nname = été\n"), "[config] toy.toml:2:8" + beyond);
  EXPECT_EQ(mistakes("[run]\nname = \"\"\"\n\\ \n é\"\"\"\n"), "[config] toy.toml:4:2" + beyond);
  EXPECT_EQ(mistakes("[run]\nname = \"\"\"\\\n a\"\"\" \u03EA"), "[config] toy.toml:3:7" + beyond);
  EXPECT_EQ(parse_config("\uFEFF# é\n[run]\nname = \"\"\"\\\n  aé\"\"\"", "toy.toml").run.name,
            "aé");
  EXPECT_EQ(parse_config("", "toy.toml", {"run.name=été"}).run.name, "été");
  EXPECT_EQ(parse_config("", "toy.toml", {"run.name='été'"}).run.name, "été");
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
