#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/export.h"

namespace heed {

// Closes on the way out, whatever happens.
class HEED_EXPORT FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() { close(); }
  int number() const { return number_; }
  bool valid() const { return number_ >= 0; }
  // Whether all went well: some file systems report a failed write here.
  bool close();

  // Where it stands; false, with errno, when not everything could be written.
  bool write_all(std::string_view content) const;
  // As many bytes as there are up to `count`, from `offset` on; none, with errno, on a failure.
  std::optional<size_t> read_at(int64_t offset, char* into, size_t count) const;
  // From where it stands: what is there up to `count`, waiting for the first byte; 0 at the end.
  std::optional<size_t> read(char* into, size_t count) const;
  // Whether read() would not wait.
  bool is_ready() const;

 private:
  int number_;
};

}  // namespace heed
