#include "train/config/toml_depth.h"

#include <algorithm>

namespace heed::train {
namespace {

// Of the string that begins at `at`, the position after its end. A single-line one that is not
// closed ends with its line; there the parser stops as well.
size_t after_string(std::string_view toml, size_t at) {
  const char quote = toml[at];
  const bool many_lines = toml.size() - at >= 3 && toml[at + 1] == quote && toml[at + 2] == quote;
  const size_t closing = many_lines ? 3 : 1;
  at += closing;
  for (size_t quotes = 0; at < toml.size(); ++at) {
    if (toml[at] == quote) {
      if (++quotes == closing) {
        // Up to two quotes more belong to a string of many lines.
        const size_t end = std::min(toml.find_first_not_of(quote, at + 1), toml.size());
        return many_lines ? std::min(end, at + 3) : at + 1;
      }
      continue;
    }
    quotes = 0;
    if (toml[at] == '\n' && !many_lines) {
      return at;
    }
    at += toml[at] == '\\' && quote == '"' ? 1 : 0;
  }
  return toml.size();
}

}  // namespace

std::optional<size_t> line_nested_too_deep(std::string_view toml) {
  constexpr int most_dots = 16;
  int dots = 0;
  size_t line_start = 0;
  for (size_t at = 0; at < toml.size();) {
    switch (toml[at]) {
      case '"':
      case '\'':
        at = after_string(toml, at);
        continue;
      case '#':
        at = std::min(toml.find('\n', at), toml.size());
        continue;
      case '\n':
        dots = 0;
        line_start = at + 1;
        break;
      case '.':
        if (++dots > most_dots) {
          const std::string_view before = toml.substr(0, line_start);
          return static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
        }
        break;
      default:
        break;
    }
    ++at;
  }
  return std::nullopt;
}

}  // namespace heed::train
