#include "core/file_descriptor.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace heed {
namespace {

// The call once more when a signal came in between.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
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
  size_t done = 0;
  while (done < count) {
    const ssize_t got = uninterrupted([&] {
      return ::pread(number_, into + done, count - done, offset + static_cast<int64_t>(done));
    });
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

std::optional<size_t> FileDescriptor::read(char* into, size_t count) const {
  const ssize_t got = uninterrupted([&] { return ::read(number_, into, count); });
  return got < 0 ? std::nullopt : std::optional(static_cast<size_t>(got));
}

bool FileDescriptor::is_ready() const {
  pollfd asked{number_, POLLIN, 0};
  return uninterrupted([&] { return ::poll(&asked, 1, 0); }) > 0;
}

}  // namespace heed
