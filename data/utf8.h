#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"

// Unicode text: a character is a code point. Classes and case come from utf8proc.
namespace heed::data {

enum class InvalidUtf8 { error, replace };

// The position of the first byte that is not valid UTF-8 (overlong forms, surrogates and what
// lies past U+10FFFF are not), or nothing.
HEED_EXPORT std::optional<size_t> invalid_utf8_position(std::string_view text);
// Every maximal invalid part becomes U+FFFD; `count` grows by their number.
HEED_EXPORT std::string replace_invalid_utf8(std::string_view text, int64_t& count);

// A code point and the bytes it takes. A byte that is no UTF-8 counts as a code point of its own,
// carried above the Unicode range, so that any text comes back from decoding as it was.
struct CodePoint {
  char32_t value;
  size_t bytes;
};
constexpr char32_t stray_byte = 0x110000;  // + the byte
// The first one of a text that is not empty.
HEED_EXPORT CodePoint first_code_point(std::string_view text);
HEED_EXPORT std::u32string decode_utf8(std::string_view text);
HEED_EXPORT void append_utf8(std::string& text, char32_t code_point);

// The code points of a text, each as its own bytes.
HEED_EXPORT std::vector<std::string> code_points(std::string_view text);

// Lower case, code point by code point.
HEED_EXPORT char32_t lower_case(char32_t code_point);
HEED_EXPORT std::string lower_case(std::string_view text);

// What `\w` and `\s` match in Unicode regular expressions.
HEED_EXPORT bool is_word_character(char32_t code_point);  // letters, numbers, marks, _
HEED_EXPORT bool is_space(char32_t code_point);

}  // namespace heed::data
