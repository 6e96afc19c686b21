#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/export.h"
#include "core/file_descriptor.h"

namespace heed {

// What comes bit by bit and is read once: a pipe, a terminal, whatever standard input is.
class HEED_EXPORT InputStream {
 public:
  InputStream(std::string_view area, std::string name, FileDescriptor source);
  static InputStream standard_input(std::string_view area);

  const std::string& name() const { return name_; }
  // Waits until there is something and returns how much of it was taken; 0 at the end, and from
  // then on. Throws InputError.
  size_t read(char* into, size_t count);
  // Whether read() would not wait.
  bool is_ready() const { return ended_ || source_.is_ready(); }

 private:
  std::string area_;
  std::string name_;
  FileDescriptor source_;
  bool ended_ = false;  // a terminal would begin anew
};

}  // namespace heed
