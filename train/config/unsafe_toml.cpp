#include "train/config/unsafe_toml.h"

#include <algorithm>

namespace heed::train {
namespace {

constexpr std::string_view white_space = " \t\r\n";

bool beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

class Scanner {
 public:
  explicit Scanner(std::string_view toml) : toml_(toml) {}

  std::optional<UnsafeToml> scan() {
    constexpr int most_dots = 16;
    int dots = 0;
    at_ = toml_.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    while (at_ < toml_.size()) {
      const char c = toml_[at_];
      if (c == '"' || c == '\'') {
        if (!skip_string()) {
          return beyond();
        }
        continue;
      }
      if (c == '#') {
        at_ = std::min(toml_.find('\n', at_), toml_.size());
        continue;
      }
      if (beyond_ascii(c)) {
        return beyond();
      }
      dots = c == '\n' ? 0 : dots + (c == '.' ? 1 : 0);
      if (dots > most_dots) {
        return found("is nested too deep, [section] and key = value are expected");
      }
      ++at_;
    }
    return std::nullopt;
  }

 private:
  // False when it stops at what is unsafe within the string. A string of one line that is not
  // closed ends with its line; there the parser stops as well.
  bool skip_string() {
    const char quote = toml_[at_];
    const bool many_lines = toml_.substr(at_, 3) == std::string(3, quote);
    const size_t closing = many_lines ? 3 : 1;
    size_t quotes = 0;
    for (at_ += closing; at_ < toml_.size(); ++at_) {
      const char c = toml_[at_];
      quotes = c == quote ? quotes + 1 : 0;
      if (quotes == closing) {
        // Up to two quotes more belong to a string of many lines.
        const size_t end = std::min(toml_.find_first_not_of(quote, at_ + 1), toml_.size());
        at_ = many_lines ? std::min(end, at_ + 3) : at_ + 1;
        return true;
      }
      if (c == '\n' && !many_lines) {
        return true;
      }
      if (c == '\\' && quote == '"') {
        ++at_;
        if (many_lines && at_ < toml_.size() && white_space.find(toml_[at_]) < white_space.size()) {
          // A line that goes on: its white space is skipped as it is outside of strings.
          at_ = std::min(toml_.find_first_not_of(white_space, at_), toml_.size());
          if (at_ < toml_.size() && beyond_ascii(toml_[at_])) {
            return false;
          }
          --at_;
        }
      }
    }
    at_ = toml_.size();
    return true;
  }

  UnsafeToml beyond() const {
    return found("is not valid TOML: a character beyond ASCII; text stands in quotes");
  }
  UnsafeToml found(std::string what) const {
    const std::string_view before = toml_.substr(0, at_);
    const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
    const auto continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    return {static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
            line.size() -
                static_cast<size_t>(std::count_if(line.begin(), line.end(), continuation)) + 1,
            std::move(what)};
  }

  std::string_view toml_;
  size_t at_ = 0;
};

}  // namespace

std::optional<UnsafeToml> find_unsafe_toml(std::string_view toml) { return Scanner(toml).scan(); }

}  // namespace heed::train
