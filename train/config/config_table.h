#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "train/config/config.h"

// The one place where keys are declared. Parsing, overrides, unknown keys, `heed config` and the
// effective config all walk this table: a new key is a member in config.h and a line in
// config_keys.cpp.
namespace heed::train {

using Value = std::variant<bool*, int64_t*, double*, std::string*, CorpusName*>;

// What heed can compute with. Checkpoints are held to it too: it may be widened, never narrowed.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;

  bool contains(double x) const;
  std::string text() const;  // "at least 0 and below 1"; empty when everything is allowed
};

// A key that has no effect under another key's value: heads, say, unless the model has some.
struct Condition {
  std::string_view key;  // empty: the key always has an effect
  std::vector<std::string_view> values;
  bool negated = false;

  bool holds(Config& config) const;
  std::string text() const;  // "only with model.kind = "transformer" | "causal_lm""
};

struct Key {
  std::string_view name;  // "train.steps"
  std::string_view help;
  Value (*value)(Config&) = nullptr;
  ValueRange range;
  std::vector<std::string_view> choices;
  Condition condition;
  bool resumable = false;
  bool is_fixed = false;

  std::string_view section() const { return name.substr(0, name.find('.')); }
  std::string_view key() const { return name.substr(name.find('.') + 1); }
  std::string text(Config& config) const;  // the value as TOML
  void copy(Config& from, Config& to) const;

  Key from(double low) && { return range.low = low, std::move(*this); }
  Key above(double low) && { return range.low_open = true, std::move(*this).from(low); }
  Key to(double high) && { return range.high = high, std::move(*this); }
  Key below(double high) && { return range.high_open = true, std::move(*this).to(high); }
  Key one_of(std::vector<std::string_view> words) && {
    return choices = std::move(words), std::move(*this);
  }
  Key only(std::string_view other, std::vector<std::string_view> values) && {
    return condition = {other, std::move(values), false}, std::move(*this);
  }
  Key unless(std::string_view other, std::vector<std::string_view> values) && {
    return condition = {other, std::move(values), true}, std::move(*this);
  }
  // May change when a run is continued from a checkpoint.
  Key may_change() && { return resumable = true, std::move(*this); }
  // May not even change in a branch: weights or vocabulary are made for it.
  Key fixed() && { return is_fixed = true, std::move(*this); }
};

struct Section {
  std::string_view name, help;
};

std::span<const Section> config_sections();
std::span<const Key> config_table();
const Key* find_key(std::string_view name);  // null when there is none

// A basic TOML string, quoted and escaped.
std::string toml_string(std::string_view text);
// `"a" | "b"`, with the separator asked for.
std::string alternatives(const std::vector<std::string_view>& words, std::string_view separator);

}  // namespace heed::train
