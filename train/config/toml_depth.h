#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace heed::train {

// The line, from 1, of the first key or value with more than a few dots outside of strings and
// comments; none in any config of ours. A dotted key makes a table a dot, and toml++, which bounds
// the nesting of values alone, destroys such a chain by recursion: a.a.a. ... 100,000 times would
// overflow the stack.
std::optional<size_t> line_nested_too_deep(std::string_view toml);

}  // namespace heed::train
