#include "train/report/display_width.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstddef>

#include "data/utf8.h"

namespace heed::train {
namespace {

constexpr std::string_view replacement = "\uFFFD";

// The first character of a text as it is shown.
struct Glyph {
  size_t bytes;           // taken from the text
  std::string_view text;  // shown
  int width;
};

bool is_control(char32_t point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(point))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CS:
      return true;
    default:
      // The direction embeddings, overrides and isolates would reorder what follows the word.
      return (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
  }
}

Glyph first_glyph(std::string_view text) {
  const data::CodePoint point = data::first_code_point(text);
  if (data::is_space(point.value)) {
    return {point.bytes, " ", 1};
  }
  if (point.value >= data::stray_byte || is_control(point.value)) {
    return {point.bytes, replacement, 1};
  }
  return {point.bytes, text.substr(0, point.bytes),
          utf8proc_charwidth(static_cast<utf8proc_int32_t>(point.value))};
}

// The longest beginning of a printable text that fits into `width` columns.
std::string_view fitting(std::string_view text, int width) {
  size_t end = 0;
  for (int used = 0; end < text.size();) {
    const Glyph glyph = first_glyph(text.substr(end));
    used += glyph.width;
    if (used > width) {
      break;
    }
    end += glyph.bytes;
  }
  return text.substr(0, end);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    shown += glyph.text;
    text.remove_prefix(glyph.bytes);
  }
  return shown;
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    width += glyph.width;
    text.remove_prefix(glyph.bytes);
  }
  return width;
}

std::string shorten(std::string_view text, int width) {
  std::string shown = printable(text);
  if (display_width(shown) <= width) {
    return shown;
  }
  return width < 1 ? std::string() : std::string(fitting(shown, width - 1)) + "…";
}

std::string shorten_middle(std::string_view text, int width) {
  const std::string shown = printable(text);
  const int columns = display_width(shown);
  if (columns <= width) {
    return shown;
  }
  if (width < 1) {
    return "";
  }
  // The end is what a beginning leaves: a wide character that is cut belongs to the end.
  const std::string end = shown.substr(fitting(shown, columns - (width - 1) / 2).size());
  return std::string(fitting(shown, width - 1 - display_width(end))) + "…" + end;
}

std::string pad(std::string_view text, int width, bool right_aligned) {
  std::string shown = printable(text);
  const auto spaces = static_cast<size_t>(std::max(0, width - display_width(shown)));
  shown.insert(right_aligned ? 0 : shown.size(), spaces, ' ');
  return shown;
}

std::vector<std::string> wrap(std::string_view text, int width) {
  const std::string shown = printable(text);
  std::vector<std::string> lines(1);
  for (size_t at = 0; at < shown.size();) {
    const size_t end = std::min(shown.find(' ', at), shown.size());
    std::string_view word = std::string_view(shown).substr(at, end - at);
    at = end + 1;
    if (word.empty()) {
      continue;
    }
    if (!lines.back().empty()) {
      if (display_width(lines.back()) + 1 + display_width(word) <= width) {
        lines.back() += ' ';
      } else {
        lines.emplace_back();
      }
    }
    while (lines.back().empty() && display_width(word) > width) {
      const std::string_view part = fitting(word, std::max(width, 2));  // 2: never an empty part
      lines.back() = part;
      word.remove_prefix(part.size());
      if (word.empty()) {
        break;
      }
      lines.emplace_back();
    }
    lines.back() += word;
  }
  return lines;
}

}  // namespace heed::train
