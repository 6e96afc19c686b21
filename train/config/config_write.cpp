#include <fmt/format.h>

#include "train/config/config_rules.h"
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

// "      transformer: 8, causal_lm: 4" where kinds of models have a default of their own.
std::string other_defaults(const Key& key, Config& defaults, std::vector<Config>& others) {
  std::string text;
  for (Config& other : others) {
    if (key.name != "model.kind" && key.condition.holds(other) &&
        key.text(other) != key.text(defaults)) {
      text += fmt::format("{}{}: {}", text.empty() ? "      " : ", ", other.model.kind,
                          key.text(other));
    }
  }
  return text.empty() ? text : text + "\n";
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
  std::vector<Config> others;
  for (const std::string_view kind : find_key("model.kind")->choices) {
    others.push_back(default_config(kind));
  }
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
      text += other_defaults(key, defaults, others);
    }
  }
  return text;
}

std::string ConfigDifference::text() const {
  return fmt::format("{} was {}, now {}", key, before, after);
}

std::vector<ConfigDifference> config_differences(const Config& before, const Config& after) {
  Config first = before, second = after;
  std::vector<ConfigDifference> differences;
  for (const Key& key : config_table()) {
    std::string was = key.text(first), is = key.text(second);
    if (was != is) {
      differences.push_back({std::string(key.name), was, is, key.resumable, key.is_fixed});
    }
  }
  return differences;
}

std::vector<ConfigDifference> chosen_keys(const Config& config) {
  auto differences = config_differences(default_config(config.model.kind), config);
  // What comes out the same when it is not given was not chosen.
  std::erase_if(differences, [&](const ConfigDifference& difference) {
    Config without = config;
    take_defaults(without, [&](std::string_view key) { return key != difference.key; });
    resolve(without, "");
    return find_key(difference.key)->text(without) == difference.after;
  });
  return differences;
}

}  // namespace heed::train
