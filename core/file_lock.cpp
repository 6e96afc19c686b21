#include "core/file_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/logging.h"

namespace heed {
namespace {

int lock_now(int file) {
  int result = 0;
  do {
    result = ::flock(file, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result;
}

// Whether the path still names the open file: its holder may have removed it in between.
bool is_named(int file, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::string read_holder(int file) {
  char text[300];
  const ssize_t size = ::pread(file, text, sizeof(text), 0);
  const std::string_view line(text, size > 0 ? static_cast<size_t>(size) : 0);
  const std::string_view name = line.substr(0, line.find('\n'));
  return name.empty() ? "another process" : std::string(name);
}

void write_holder(int file) {
  char host[256] = "";
  static_cast<void>(::gethostname(host, sizeof(host) - 1));
  const std::string line = fmt::format("process {} on {}\n", ::getpid(), host);
  // Only for messages: a full disk shall not keep a run from starting.
  if (::ftruncate(file, 0) == 0) {
    static_cast<void>(!::pwrite(file, line.data(), line.size(), 0));
  }
}

}  // namespace

FileLock::FileLock(std::string_view area, std::string path) : path_(std::move(path)) {
  while (true) {
    file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    HEED_CHECK(file_.valid(), area, "{}: cannot be created: {}", path_, std::strerror(errno));
    if (lock_now(file_.number()) != 0) {
      if (errno == EWOULDBLOCK) {
        holder_ = read_holder(file_.number());
        return;
      }
      log::warning(area, "{}: cannot be locked ({}): nothing keeps another process out", path_,
                   std::strerror(errno));
      break;
    }
    if (is_named(file_.number(), path_)) {
      break;
    }
  }
  held_ = true;
  write_holder(file_.number());
}

FileLock::~FileLock() {
  if (held_) {
    ::unlink(path_.c_str());
  }
}

}  // namespace heed
