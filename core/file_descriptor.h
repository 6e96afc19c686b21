#pragma once

#include <unistd.h>

#include <utility>

namespace heed {

// Closes on the way out, whatever happens.
class FileDescriptor {
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
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

}  // namespace heed
