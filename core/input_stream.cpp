#include "core/input_stream.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace heed {

InputStream::InputStream(std::string_view area, std::string name, FileDescriptor source)
    : area_(area), name_(std::move(name)), source_(std::move(source)) {}

InputStream InputStream::standard_input(std::string_view area) {
  return {area, "standard input", FileDescriptor(::dup(STDIN_FILENO))};
}

size_t InputStream::read(char* into, size_t count) {
  if (ended_) {
    return 0;
  }
  const auto got = source_.read(into, count);
  HEED_CHECK_INPUT(got, area_, "{} cannot be read: {}", name_, std::strerror(errno));
  ended_ = *got == 0;
  return *got;
}

}  // namespace heed
