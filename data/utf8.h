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

// The position of the first byte that is not valid UTF-8 (overlong forms, surrogates and what
// lies past U+10FFFF are not), or nothing.
HEED_EXPORT std::optional<size_t> invalid_utf8_position(std::string_view text);
// Every maximal invalid part becomes U+FFFD; `count` grows by their number.
HEED_EXPORT std::string replace_invalid_utf8(std::string_view text, int64_t& count);

// The code points of valid UTF-8, each as its own bytes.
HEED_EXPORT std::vector<std::string> code_points(std::string_view text);
// Lower case, code point by code point.
HEED_EXPORT std::string lower_case(std::string_view text);

// What `\w` and `\s` match in Unicode regular expressions.
HEED_EXPORT bool is_word_character(std::string_view code_point);  // letters, numbers, marks, _
HEED_EXPORT bool is_space(std::string_view code_point);

}  // namespace heed::data
