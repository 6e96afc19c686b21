#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "core/export.h"

namespace heed {

// A mistake of the caller or a failure of the machine, worded for a person:
//   "[tag] what is wrong: name (shape), name (shape)"
// The program prints what() on one line and exits 1; it never shows a stack trace.
class HEED_EXPORT Error : public std::runtime_error {
 public:
  Error(std::string_view tag, std::string_view message)
      : std::runtime_error(fmt::format("[{}] {}", tag, message)) {}
  // Takes a text that carries its tag already (several mistakes reported at once, say).
  explicit Error(const std::string& worded) : std::runtime_error(worded) {}
};

// What the user gave is wrong (config, corpus, run folder, command line): the program exits 2.
class HEED_EXPORT InputError : public Error {
 public:
  using Error::Error;
};

// A bug of heed's own, found by HEED_ASSERT.
class HEED_EXPORT InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace heed

// The caller's mistakes. HEED_CHECK(k > 0, "slice", "length {} is not positive", k);
#define HEED_CHECK(condition, tag, ...)                       \
  do {                                                        \
    if (!(condition)) [[unlikely]] {                          \
      throw ::heed::Error((tag), ::fmt::format(__VA_ARGS__)); \
    }                                                         \
  } while (false)

// The same for what a person typed or a file held: exit code 2.
#define HEED_CHECK_INPUT(condition, tag, ...)                      \
  do {                                                             \
    if (!(condition)) [[unlikely]] {                               \
      throw ::heed::InputError((tag), ::fmt::format(__VA_ARGS__)); \
    }                                                              \
  } while (false)

// Our own mistakes.
#define HEED_ASSERT(condition, ...)                                                                \
  do {                                                                                             \
    if (!(condition)) [[unlikely]] {                                                               \
      throw ::heed::InternalError(::fmt::format("{}:{}: {} does not hold: {}", __FILE__, __LINE__, \
                                                #condition, ::fmt::format(__VA_ARGS__)));          \
    }                                                                                              \
  } while (false)
