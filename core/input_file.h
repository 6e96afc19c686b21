#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/export.h"
#include "core/file_descriptor.h"
#include "core/scratch_file.h"

namespace heed {

// A file that is read by position, as often as is needed, and never held. What can be read only
// once (a pipe) is copied to a ScratchFile first.
class HEED_EXPORT InputFile {
 public:
  // Throws InputError as read_file does: "[area] PATH: no such file".
  InputFile(std::string_view area, const std::string& path);

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }
  // Fills `into` from `offset` on and returns how many bytes there were: fewer only at the end.
  size_t read_at(int64_t offset, char* into, size_t count) const;
  // Throws InputError when the file was written to since it was opened.
  void check_unchanged() const;

 private:
  struct Version {
    int64_t size, seconds, nanoseconds;
    bool operator==(const Version&) const = default;
  };
  Version version() const;
  size_t checked(std::optional<size_t> read) const;  // throws InputError for what failed

  std::string area_;
  std::string path_;
  FileDescriptor file_;
  Version opened_{};
  int64_t size_ = 0;
  std::unique_ptr<ScratchFile> copy_;
};

}  // namespace heed
