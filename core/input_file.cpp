#include "core/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace heed {
namespace {

// Why a file did not open: errno in words.
std::string reason(const std::string& path) {
  if (errno != ENOENT) {
    return fmt::format("cannot be read: {}", std::strerror(errno));
  }
  std::error_code ignored;
  return std::filesystem::path(path).is_absolute()
             ? "no such file"
             : fmt::format("no such file in {}; a relative path begins where heed is called",
                           std::filesystem::current_path(ignored).string());
}

}  // namespace

InputFile::InputFile(std::string_view area, const std::string& path)
    : area_(area), path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  HEED_CHECK_INPUT(file_.valid(), area, "{}: {}", path, reason(path));
  struct stat status {};
  HEED_CHECK_INPUT(::fstat(file_.number(), &status) == 0, area, "{}: {}", path,
                   std::strerror(errno));
  HEED_CHECK_INPUT(!S_ISDIR(status.st_mode), area, "{}: is a folder, a file is expected", path);
  if (S_ISREG(status.st_mode)) {
    opened_ = version();
    size_ = opened_.size;
    return;
  }
  copy_ = std::make_unique<ScratchFile>(area, path);
  std::vector<char> buffer(size_t{1} << 16);
  while (const size_t got = checked(file_.read(buffer.data(), buffer.size()))) {
    copy_->append(buffer.data(), got);
  }
  size_ = copy_->size();
}

size_t InputFile::read_at(int64_t offset, char* into, size_t count) const {
  if (copy_ == nullptr) {
    return checked(file_.read_at(offset, into, count));
  }
  const auto there =
      std::min(count, static_cast<size_t>(std::max<int64_t>(0, copy_->size() - offset)));
  copy_->read_at(offset, into, there);
  return there;
}

size_t InputFile::checked(std::optional<size_t> read) const {
  HEED_CHECK_INPUT(read, area_, "{}: cannot be read: {}", path_, std::strerror(errno));
  return *read;
}

InputFile::Version InputFile::version() const {
  struct stat status {};
  HEED_CHECK_INPUT(::fstat(file_.number(), &status) == 0, area_, "{}: {}", path_,
                   std::strerror(errno));
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

void InputFile::check_unchanged() const {
  HEED_CHECK_INPUT(copy_ != nullptr || version() == opened_, area_,
                   "{} was written to while it was read; start again when it stands still", path_);
}

}  // namespace heed
