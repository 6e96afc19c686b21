#include "train/scoring/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstddef>

#include "data/utf8.h"

namespace heed::train {
namespace {

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
    const data::CodePoint next = data::first_code_point(text.substr(position));
    if (data::is_space(next.value)) {
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
  const std::u32string points = data::decode_utf8(text);
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i] == dotted_capital_i) {
      data::append_utf8(result, U'i');
      data::append_utf8(result, combining_dot);
    } else if (points[i] == capital_sigma && is_final_sigma(points, i)) {
      data::append_utf8(result, final_sigma);
    } else {
      data::append_utf8(result, data::lower_case(points[i]));
    }
  }
  return result;
}

}  // namespace heed::train
