#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "train/scoring/bleu.h"
#include "train/scoring/text.h"

// The rules of NIST's mteval-v13a.pl for Western languages. All of them look at ASCII alone, so
// they work on bytes: a byte of a longer code point is neither digit nor punctuation.
namespace heed::train {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

// ASCII punctuation (and space) other than the apostrophe, comma, dash and full stop.
bool stands_alone(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string separate_punctuation(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (stands_alone(c)) {
      result += {' ', c, ' '};
    } else {
      result += c;
    }
  }
  return result;
}

// Rewrites, from the left and without overlap, every pair of neighbours that `matches`.
template <typename Matches, typename Rewrite>
std::string rewrite_pairs(std::string_view text, Matches matches, Rewrite rewrite) {
  std::string result;
  std::size_t i = 0;
  while (i < text.size()) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      rewrite(result, text[i], text[i + 1]);
      i += 2;
    } else {
      result += text[i++];
    }
  }
  return result;
}

}  // namespace

std::string tokenize_13a(std::string_view text) {
  std::string line(strip_right(text));
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");

  line = separate_punctuation(" " + line + " ");
  // A stop is cut off unless digits stand on both sides of it: 1,000.50 stays whole.
  line = rewrite_pairs(
      line, [](char a, char b) { return !is_digit(a) && is_stop(b); },
      [](std::string& out, char a, char b) {
        out += {a, ' ', b, ' '};
      });
  line = rewrite_pairs(
      line, [](char a, char b) { return is_stop(a) && !is_digit(b); },
      [](std::string& out, char a, char b) {
        out += {' ', a, ' ', b};
      });
  // A dash is cut off from a digit before it: 1990-1995.
  line = rewrite_pairs(
      line, [](char a, char b) { return is_digit(a) && b == '-'; },
      [](std::string& out, char a, char b) {
        out += {a, ' ', b, ' '};
      });
  return fmt::format("{}", fmt::join(split_words(line), " "));
}

}  // namespace heed::train
