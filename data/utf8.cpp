#include "data/utf8.h"

#include <utf8proc.h>

#include "core/error.h"

namespace heed::data {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Length of the code point that begins at `at` and its value; a value below 0 is invalid.
struct Decoded {
  size_t length;
  int32_t value;
};

Decoded decode_at(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) {
    return {1, lead};
  }
  utf8proc_int32_t value = -1;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                                       static_cast<utf8proc_ssize_t>(text.size() - at), &value);
  return length > 0 ? Decoded{static_cast<size_t>(length), value} : Decoded{1, -1};
}

int32_t value_of(std::string_view code_point) {
  HEED_ASSERT(!code_point.empty(), "no code point");
  return decode_at(code_point, 0).value;
}

}  // namespace

std::optional<size_t> invalid_utf8_position(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Decoded point = decode_at(text, at);
    if (point.value < 0) {
      return at;
    }
    at += point.length;
  }
  return std::nullopt;
}

std::string replace_invalid_utf8(std::string_view text, int64_t& count) {
  std::string result;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const Decoded point = decode_at(text, at);
    const bool continuation = (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    if (point.value >= 0) {
      result += text.substr(at, point.length);
      inside = false;
    } else if (!inside || !continuation) {
      result += replacement;
      ++count;
      inside = true;
    }
    at += point.length;
  }
  return result;
}

std::vector<std::string> code_points(std::string_view text) {
  std::vector<std::string> points;
  for (size_t at = 0; at < text.size();) {
    const size_t length = decode_at(text, at).length;
    points.emplace_back(text.substr(at, length));
    at += length;
  }
  return points;
}

std::string lower_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Decoded point = decode_at(text, at);
    utf8proc_uint8_t bytes[4];
    const auto length =
        point.value < 0 ? 0 : utf8proc_encode_char(utf8proc_tolower(point.value), bytes);
    if (length > 0) {
      result.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
    } else {
      result += text.substr(at, point.length);
    }
    at += point.length;
  }
  return result;
}

bool is_word_character(std::string_view code_point) {
  if (code_point == "_") {
    return true;
  }
  switch (utf8proc_category(value_of(code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

bool is_space(std::string_view code_point) {
  const int32_t value = value_of(code_point);
  if ((value >= 0x09 && value <= 0x0D) || (value >= 0x1C && value <= 0x1F) || value == 0x85) {
    return true;
  }
  switch (utf8proc_category(value)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return false;
  }
}

}  // namespace heed::data
