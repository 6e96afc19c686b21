#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/export.h"
#include "core/file_descriptor.h"

namespace heed {

// Bytes that may be too many for memory. The first ones are held; when they outgrow `memory`, all
// lie in a file without a name, which is gone when the program ends, however it ends. It is made in
// the folder TMPDIR, else in /var/tmp.
class HEED_EXPORT ScratchFile {
 public:
  static constexpr size_t default_memory = size_t{16} << 20;
  // For messages: "[area] WHAT: ...", as in "the ids of train.txt".
  ScratchFile(std::string_view area, std::string what, size_t memory = default_memory);

  // Throws Error, naming the folder, when it has no room.
  void append(const void* bytes, size_t count);
  // All of [offset, offset + count) has to be there.
  void read_at(int64_t offset, void* into, size_t count) const;

  int64_t size() const { return written_ + static_cast<int64_t>(held_.size()); }

 private:
  void write_held();

  std::string area_;
  std::string what_;
  size_t memory_;
  std::string folder_;
  FileDescriptor file_;
  int64_t written_ = 0;  // bytes of the file
  std::string held_;     // those after them
};

}  // namespace heed
