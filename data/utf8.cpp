#include "data/utf8.h"

#include <utf8proc.h>

#include "core/error.h"

namespace heed::data {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

utf8proc_category_t category(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  HEED_ASSERT(!text.empty(), "no code point");
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) {
    return {lead, 1};
  }
  utf8proc_int32_t value = 0;
  const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                      static_cast<utf8proc_ssize_t>(text.size()), &value);
  return bytes > 0 ? CodePoint{static_cast<char32_t>(value), static_cast<size_t>(bytes)}
                   : CodePoint{stray_byte + lead, 1};
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    result.push_back(next.value);
    text.remove_prefix(next.bytes);
  }
  return result;
}

void append_utf8(std::string& text, char32_t code_point) {
  if (code_point >= stray_byte) {
    text.push_back(static_cast<char>(code_point - stray_byte));
    return;
  }
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

std::optional<size_t> invalid_utf8_position(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    if (point.value >= stray_byte) {
      return at;
    }
    at += point.bytes;
  }
  return std::nullopt;
}

std::string replace_invalid_utf8(std::string_view text, int64_t& count) {
  std::string result;
  bool inside = false;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const bool continuation = (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80;
    if (point.value < stray_byte) {
      result += text.substr(0, point.bytes);
      inside = false;
    } else if (!inside || !continuation) {
      result += replacement;
      ++count;
      inside = true;
    }
    text.remove_prefix(point.bytes);
  }
  return result;
}

std::vector<std::string> code_points(std::string_view text) {
  std::vector<std::string> points;
  while (!text.empty()) {
    const size_t bytes = first_code_point(text).bytes;
    points.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return points;
}

char32_t lower_case(char32_t code_point) {
  return code_point >= stray_byte
             ? code_point
             : static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point)));
}

std::string lower_case(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    append_utf8(result, lower_case(point.value));
    text.remove_prefix(point.bytes);
  }
  return result;
}

bool is_word_character(char32_t code_point) {
  if (code_point == U'_') {
    return true;
  }
  switch (category(code_point)) {
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

bool is_space(char32_t code_point) {
  if ((code_point >= 0x09 && code_point <= 0x0D) || (code_point >= 0x1C && code_point <= 0x1F) ||
      code_point == 0x85) {
    return true;
  }
  switch (category(code_point)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return false;
  }
}

}  // namespace heed::data
