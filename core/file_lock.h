#pragma once

#include <string>
#include <string_view>

#include "core/export.h"
#include "core/file_descriptor.h"

namespace heed {

// One process at a time: a lock on a file that names its holder. The kernel frees it when the
// process ends, however it ends; a file that was left behind locks nothing.
class HEED_EXPORT FileLock {
 public:
  // Takes the lock, or finds out who has it (held()). Throws Error when the file cannot be made.
  // A file system without locks is warned of; nothing keeps others out there.
  FileLock(std::string_view area, std::string path);
  ~FileLock();  // frees the lock and removes the file
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool held() const { return held_; }
  // "process 123 on HOST" that has it instead of us, as far as the file tells.
  const std::string& holder() const { return holder_; }

 private:
  std::string path_;
  FileDescriptor file_;
  bool held_ = false;
  std::string holder_;
};

}  // namespace heed
