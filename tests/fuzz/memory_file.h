#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tests/fuzz/target.h"

namespace heed::fuzz {

// A file that has a path but no disk, for readers that take a path.
class MemoryFile {
 public:
  MemoryFile() : number_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    demand(number_ >= 0, "a file in memory can be made");
  }
  ~MemoryFile() { ::close(number_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

  void hold(std::string_view content) const {
    const auto size = static_cast<ssize_t>(content.size());
    demand(::ftruncate(number_, 0) == 0 &&
               ::pwrite(number_, content.data(), content.size(), 0) == size,
           "the file takes its content");
  }

 private:
  int number_;
};

}  // namespace heed::fuzz
