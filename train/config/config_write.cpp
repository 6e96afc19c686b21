#include <fmt/format.h>

#include "train/config/config_table.h"

namespace heed::train {
namespace {

// "integer, at least 1" or the words to choose from.
std::string kind_of(const Key& key, const Value& value) {
  struct Namer {
    std::string operator()(const bool*) const { return "true or false"; }
    std::string operator()(const int64_t*) const { return "integer"; }
    std::string operator()(const double*) const { return "number"; }
    std::string operator()(const std::string*) const { return "text"; }
    std::string operator()(const CorpusName*) const { return "corpus"; }
  };
  if (!key.choices.empty()) {
    return alternatives(key.choices, " | ");
  }
  const std::string range = key.range.text();
  return std::visit(Namer{}, value) + (range.empty() ? "" : ", " + range);
}

}  // namespace

std::string write_toml(const Config& config) {
  Config shown = config;
  std::string text;
  for (const Section& section : config_sections()) {
    text += fmt::format("{}[{}]  # {}\n", text.empty() ? "" : "\n", section.name, section.help);
    for (const Key& key : config_table()) {
      if (key.section() != section.name) {
        continue;
      }
      const bool applies = key.condition.holds(shown);
      const std::string entry =
          fmt::format("{}{} = {}", applies ? "" : "# ", key.key(), key.text(shown));
      const std::string choices =
          key.choices.empty() ? "" : ": " + alternatives(key.choices, " | ");
      const std::string condition = applies ? "" : "; " + key.condition.text();
      text += fmt::format("{:<32}  # {}{}{}\n", entry, key.help, choices, condition);
    }
  }
  return text;
}

std::string describe_config() {
  Config defaults;
  std::string text;
  for (const Section& section : config_sections()) {
    text += fmt::format("{}[{}]  {}\n", text.empty() ? "" : "\n", section.name, section.help);
    for (const Key& key : config_table()) {
      if (key.section() != section.name) {
        continue;
      }
      const std::string condition = key.condition.text();
      text += fmt::format(
          "  {:<34}  {}\n      {}{}\n", fmt::format("{} = {}", key.key(), key.text(defaults)),
          kind_of(key, key.value(defaults)), key.help, condition.empty() ? "" : "; " + condition);
    }
  }
  return text;
}

std::vector<ConfigDifference> config_differences(const Config& before, const Config& after) {
  Config first = before, second = after;
  std::vector<ConfigDifference> differences;
  for (const Key& key : config_table()) {
    std::string was = key.text(first), is = key.text(second);
    if (was != is) {
      differences.push_back({std::string(key.name), was, is, key.resumable});
    }
  }
  return differences;
}

}  // namespace heed::train
