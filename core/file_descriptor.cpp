#include "core/file_descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace heed {
namespace {

// read_some(done): read()'s or pread()'s answer for the bytes after the first `done`.
template <typename ReadSome>
std::optional<size_t> read_fully(size_t count, ReadSome read_some) {
  size_t done = 0;
  while (done < count) {
    const ssize_t got = read_some(done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return std::nullopt;
    }
    if (got == 0) {
      break;
    }
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

bool FileDescriptor::close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

bool FileDescriptor::write_all(std::string_view content) const {
  while (!content.empty()) {
    const ssize_t written = ::write(number_, content.data(), content.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::optional<size_t> FileDescriptor::read_at(int64_t offset, char* into, size_t count) const {
  return read_fully(count, [&](size_t done) {
    return ::pread(number_, into + done, count - done, offset + static_cast<int64_t>(done));
  });
}

std::optional<size_t> FileDescriptor::read(char* into, size_t count) const {
  return read_fully(count, [&](size_t done) { return ::read(number_, into + done, count - done); });
}

}  // namespace heed
