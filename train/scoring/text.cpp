#include "train/scoring/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstddef>

namespace heed::train {
namespace {

// A byte that is no UTF-8 is carried above the Unicode range.
constexpr char32_t stray_byte = 0x110000;

struct Decoded {
  char32_t code_point;
  std::size_t bytes;
};

Decoded decode(std::string_view text) {
  utf8proc_int32_t code_point = 0;
  const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                      static_cast<utf8proc_ssize_t>(text.size()), &code_point);
  if (bytes <= 0) {
    return {stray_byte + static_cast<unsigned char>(text.front()), 1};
  }
  return {static_cast<char32_t>(code_point), static_cast<std::size_t>(bytes)};
}

void append(std::string& text, char32_t code_point) {
  if (code_point >= stray_byte) {
    text.push_back(static_cast<char>(code_point - stray_byte));
    return;
  }
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

utf8proc_category_t category(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

// Unicode's properties Cased and Case_Ignorable (chapter 3.13), as far as final sigma needs them.
bool is_cased(char32_t code_point) {
  const auto kind = category(code_point);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL ||
         kind == UTF8PROC_CATEGORY_LT;
}

bool is_case_ignorable(char32_t code_point) {
  // The punctuation that stands inside words (Word_Break MidLetter, MidNumLet, Single_Quote).
  constexpr std::u32string_view inside_words =
      U"':.\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  switch (category(code_point)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return inside_words.find(code_point) != std::u32string_view::npos;
  }
}

// A sigma is final after a cased letter when none follows; what is case-ignorable is passed over.
bool is_final_sigma(const std::u32string& text, std::size_t position) {
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(position);
  const auto before =
      std::find_if_not(std::make_reverse_iterator(begin), text.rend(), is_case_ignorable);
  const auto after = std::find_if_not(begin + 1, text.end(), is_case_ignorable);
  return before != text.rend() && is_cased(*before) && (after == text.end() || !is_cased(*after));
}

}  // namespace

std::u32string code_points(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Decoded next = decode(text);
    result.push_back(next.code_point);
    text.remove_prefix(next.bytes);
  }
  return result;
}

bool is_space(char32_t code_point) {
  if (code_point >= stray_byte) {
    return false;
  }
  const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point));
  return property->category == UTF8PROC_CATEGORY_ZS ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_WS ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_B ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_S;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t start = 0;
  std::size_t position = 0;
  const auto close = [&] {
    if (position > start) {
      words.push_back(text.substr(start, position - start));
    }
  };
  while (position < text.size()) {
    const Decoded next = decode(text.substr(position));
    if (is_space(next.code_point)) {
      close();
      start = position + next.bytes;
    }
    position += next.bytes;
  }
  close();
  return words;
}

std::string_view strip_right(std::string_view text) {
  const auto words = split_words(text);
  return words.empty() ? std::string_view()
                       : text.substr(0, words.back().data() + words.back().size() - text.data());
}

std::string lower(std::string_view text) {
  constexpr char32_t dotted_capital_i = 0x130;
  constexpr char32_t combining_dot = 0x307;
  constexpr char32_t capital_sigma = 0x3A3;
  constexpr char32_t final_sigma = 0x3C2;
  const std::u32string points = code_points(text);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const char32_t point = points[i];
    if (point == dotted_capital_i) {
      append(result, U'i');
      append(result, combining_dot);
    } else if (point == capital_sigma && is_final_sigma(points, i)) {
      append(result, final_sigma);
    } else if (point >= stray_byte) {
      append(result, point);
    } else {
      append(result, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point))));
    }
  }
  return result;
}

}  // namespace heed::train
