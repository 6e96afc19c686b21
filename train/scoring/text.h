#pragma once

#include <string>
#include <string_view>
#include <vector>

// Text as sacreBLEU, a Python program, sees it. A byte that is no UTF-8 counts as a code point of
// its own and is left as it is.
namespace heed::train {

// Python's str.split(): the runs between white space.
std::vector<std::string_view> split_words(std::string_view text);

// Python's str.rstrip().
std::string_view strip_right(std::string_view text);

// Python's str.lower(), with its two special cases: a dotted capital I becomes i and a dot, and a
// capital sigma at the end of a word becomes a final one.
std::string lower(std::string_view text);

}  // namespace heed::train
