#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"

// Text files as users have them. Only LF ends a line; a CR before it is removed and counted; a byte
// order mark is removed; every other character (NUL, VT, FF, U+0085, U+2028) is an ordinary one.
namespace heed::data {

enum class InvalidUtf8 { error, replace };

struct TextFile {
  std::string name;                // as the user named it, for messages
  std::vector<std::string> lines;  // without their ends; a missing last newline is no matter
  int64_t carriage_returns = 0;
  int64_t replaced = 0;  // invalid parts turned into U+FFFD
};

// Throws InputError naming file, line and byte, and the remedy, for what is no UTF-8 text: a
// missing file, a folder, an empty file, UTF-16 or UTF-32, compressed and other binary files, HTML,
// lines ended by CR alone, a line over 16 MiB, invalid UTF-8 (unless it is to be replaced).
HEED_EXPORT TextFile read_text_file(const std::string& path,
                                    InvalidUtf8 policy = InvalidUtf8::error);

// The same for bytes already at hand (standard input, say).
HEED_EXPORT TextFile parse_text(std::string_view bytes, const std::string& name,
                                InvalidUtf8 policy = InvalidUtf8::error);

// A line that comes by itself, without its LF: line `number` of what is called `name`. What kind of
// file it belongs to is not asked again.
HEED_EXPORT std::string parse_line(std::string_view line, size_t number, const std::string& name,
                                   InvalidUtf8 policy = InvalidUtf8::error);

}  // namespace heed::data
