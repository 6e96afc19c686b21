#pragma once

#include <string>
#include <string_view>

#include "core/export.h"

namespace heed::train {

// Columns that a UTF-8 text takes on a terminal: 2 for East Asian wide characters, 0 for combining
// marks and controls, 1 for a byte that is not UTF-8.
HEED_EXPORT int display_width(std::string_view text);

// The text for one line: controls (tabs, escapes, direction overrides) and bytes that are not UTF-8
// become U+FFFD.
HEED_EXPORT std::string printable(std::string_view text);

// The printable text cut to at most `width` columns, its last one being … when something was cut.
HEED_EXPORT std::string shorten(std::string_view text, int width);

// The printable text filled with spaces to `width` columns; longer texts are left as they are.
HEED_EXPORT std::string pad(std::string_view text, int width, bool right_aligned = false);

}  // namespace heed::train
