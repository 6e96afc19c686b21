#pragma once

#include <string>

#include "core/error.h"

namespace heed::test {

// What f throws, an Error or the kind of it that is expected, says; a text that fails when f throws
// nothing.
template <typename Kind = Error, typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Kind& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace heed::test
