#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/file_descriptor.h"

namespace heed {
namespace {

std::string cause() { return std::strerror(errno); }

// Throws Error after removing the temporary file.
[[noreturn]] void give_up(std::string_view area, const std::string& path,
                          const std::string& temporary, std::string_view what) {
  const std::string why = cause();
  ::unlink(temporary.c_str());
  throw Error(area, fmt::format("{}: {}: {}", path, what, why));
}

// The temporary file takes the place of the one named path; the folder remembers that.
void move_into_place(std::string_view area, const std::string& temporary, const std::string& path) {
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    give_up(area, path, temporary, "cannot be renamed into place");
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const FileDescriptor folder(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems sync no folders and say EINVAL.
  HEED_CHECK(folder.valid() && (::fsync(folder.number()) == 0 || errno == EINVAL), area,
             "{}: its folder cannot be synced: {}", path, cause());
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
    const auto got = file.read(buffer, sizeof(buffer));
    HEED_CHECK_INPUT(got, area, "{}: cannot be read: {}", path, cause());
    if (*got == 0) {
      return content;
    }
    content.append(buffer, *got);
    HEED_CHECK_INPUT(static_cast<int64_t>(content.size()) <= most_bytes, area,
                     "{}: goes on after {} bytes, the most read", path, most_bytes);
  }
}

void write_file(std::string_view area, const std::string& path, std::string_view content) {
  const std::string temporary = path + std::string(temporary_suffix);
  FileDescriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  HEED_CHECK(file.valid(), area, "{}: cannot be created: {}", temporary, cause());
  if (!file.write_all(content) || ::fsync(file.number()) != 0 || !file.close()) {
    give_up(area, path, temporary, "cannot be written");
  }
  move_into_place(area, temporary, path);
}

void link_file(std::string_view area, const std::string& file, const std::string& alias) {
  const std::string temporary = alias + std::string(temporary_suffix);
  ::unlink(temporary.c_str());
  if (::link(file.c_str(), temporary.c_str()) != 0) {
    write_file(area, alias, read_file(area, file));
    return;
  }
  move_into_place(area, temporary, alias);
  ::unlink(temporary.c_str());  // rename() leaves it when both name the same file already
}

std::optional<int64_t> free_bytes(const std::string& path) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
}

}  // namespace heed
