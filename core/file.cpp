#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace heed {
namespace {

// Closes on the way out, whatever happens.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int number() const { return number_; }
  bool valid() const { return number_ >= 0; }

 private:
  int number_;
};

std::string cause() { return std::strerror(errno); }

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return false;
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

std::string read_file(std::string_view area, const std::string& path, int64_t most_bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  HEED_CHECK_INPUT(file.valid(), area, "{}: {}", path,
                   errno == ENOENT ? "no such file" : "cannot be read: " + cause());
  struct stat status {};
  HEED_CHECK_INPUT(::fstat(file.number(), &status) == 0, area, "{}: {}", path, cause());
  HEED_CHECK_INPUT(!S_ISDIR(status.st_mode), area, "{}: is a folder, a file is expected", path);
  HEED_CHECK_INPUT(status.st_size <= most_bytes, area, "{}: {} bytes, at most {} are read", path,
                   status.st_size, most_bytes);
  std::string content;
  content.reserve(static_cast<size_t>(status.st_size));
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.number(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    HEED_CHECK_INPUT(got >= 0, area, "{}: cannot be read: {}", path, cause());
    if (got == 0) {
      return content;
    }
    content.append(buffer, static_cast<size_t>(got));
    HEED_CHECK_INPUT(static_cast<int64_t>(content.size()) <= most_bytes, area,
                     "{}: goes on after {} bytes, the most read", path, most_bytes);
  }
}

void write_file(std::string_view area, const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp";
  {
    const FileDescriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    HEED_CHECK(file.valid(), area, "{}: cannot be created: {}", temporary, cause());
    if (!write_all(file.number(), content) || ::fsync(file.number()) != 0) {
      const std::string why = cause();
      ::unlink(temporary.c_str());
      throw Error(area, fmt::format("{}: cannot be written: {}", path, why));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = cause();
    ::unlink(temporary.c_str());
    throw Error(area, fmt::format("{}: cannot be renamed into place: {}", path, why));
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const FileDescriptor folder(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) {
    ::fsync(folder.number());
  }
}

}  // namespace heed
