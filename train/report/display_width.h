#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"

// Columns of a terminal. Texts are UTF-8; they are shown as printable() gives them.
namespace heed::train {

// The text for one line: white space becomes plain spaces; controls (escapes, direction overrides)
// and bytes that are not UTF-8 become U+FFFD.
HEED_EXPORT std::string printable(std::string_view text);

// Columns the printable text takes: 2 for East Asian wide characters, 0 for combining marks.
HEED_EXPORT int display_width(std::string_view text);

// The printable text cut to at most `width` columns; what is cut is marked by a final … .
HEED_EXPORT std::string shorten(std::string_view text, int width);

// The same with what is cut taken from the middle: names often differ in their ends.
HEED_EXPORT std::string shorten_middle(std::string_view text, int width);

// The printable text filled with spaces to `width` columns; a longer text is left as it is.
HEED_EXPORT std::string pad(std::string_view text, int width, bool right_aligned = false);

// The printable text in lines of at most `width` columns, broken at spaces, or within a word longer
// than a line. At least one line.
HEED_EXPORT std::vector<std::string> wrap(std::string_view text, int width);

}  // namespace heed::train
