#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heed::train {

struct UnsafeToml {
  size_t line, column;  // from 1, in code points
  std::string what;     // "is nested too deep, ..."
};

// The first place where a text must not come before toml++ 3.3:
// - a key or value with more than a few dots. A dotted key makes a table a dot, and such a chain is
//   destroyed by recursion: a.a.a. ... 100,000 times would overflow the stack.
// - a character beyond ASCII outside of strings and comments, where TOML has none: asked whether it
//   is white space, the library runs into what it calls unreachable.
std::optional<UnsafeToml> find_unsafe_toml(std::string_view toml);

}  // namespace heed::train
