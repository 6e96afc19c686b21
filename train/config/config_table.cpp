#include "train/config/config_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace heed::train {
namespace {

// What a condition's values are compared with: texts without quotes.
std::string plain(const Value& value, std::string toml) {
  if (const auto* text = std::get_if<std::string*>(&value)) {
    return **text;
  }
  if (const auto* corpus = std::get_if<CorpusName*>(&value); corpus && (*corpus)->size() < 2) {
    return (*corpus)->empty() ? "none" : (*corpus)->front();
  }
  return toml;
}

std::string number(double x) {
  std::string text = fmt::format("{}", x);
  const bool integer = text.find_first_not_of("-0123456789") == std::string::npos;
  return integer ? text + ".0" : text;
}

}  // namespace

const Key* find_key(std::string_view name) {
  const auto table = config_table();
  const auto found = std::ranges::find(table, name, &Key::name);
  return found == table.end() ? nullptr : &*found;
}

bool ValueRange::contains(double x) const {
  return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high);
}

std::string ValueRange::text() const {
  const bool bounded_below = low > -std::numeric_limits<double>::infinity();
  const bool bounded_above = high < std::numeric_limits<double>::infinity();
  if (bounded_below && bounded_above && !low_open && !high_open) {
    return fmt::format("from {} to {}", low, high);
  }
  std::string text;
  if (bounded_below) {
    text = fmt::format("{} {}", low_open ? "above" : "at least", low);
  }
  if (bounded_above) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : " and ", high_open ? "below" : "at most", high);
  }
  return text;
}

bool Condition::holds(Config& config) const {
  if (key.empty()) {
    return true;
  }
  const Key& other = *find_key(key);
  const std::string now = plain(other.value(config), other.text(config));
  return (std::ranges::find(values, now) != values.end()) != negated;
}

std::string Condition::text() const {
  if (key.empty()) {
    return "";
  }
  const bool numeric = values.front() == "0";
  return fmt::format("{} {} = {}", negated ? "not with" : "only with", key,
                     numeric ? "0" : alternatives(values, " | "));
}

std::string Key::text(Config& config) const {
  struct Writer {
    std::string operator()(const bool* x) const { return *x ? "true" : "false"; }
    std::string operator()(const int64_t* x) const { return fmt::format("{}", *x); }
    std::string operator()(const double* x) const { return number(*x); }
    std::string operator()(const std::string* x) const { return toml_string(*x); }
    std::string operator()(const CorpusName* x) const {
      if (x->empty()) {
        return toml_string("none");
      }
      return x->size() == 1
                 ? toml_string(x->front())
                 : fmt::format("[{}, {}]", toml_string(x->front()), toml_string(x->back()));
    }
  };
  return std::visit(Writer{}, value(config));
}

void Key::copy(Config& from, Config& to) const {
  std::visit(
      [](auto* source, auto* target) {
        if constexpr (std::is_same_v<decltype(source), decltype(target)>) {
          *target = *source;
        }
      },
      value(from), value(to));
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string alternatives(const std::vector<std::string_view>& words, std::string_view separator) {
  std::string text;
  for (const std::string_view word : words) {
    text += fmt::format("{}{}", text.empty() ? "" : separator, toml_string(word));
  }
  return text;
}

}  // namespace heed::train
