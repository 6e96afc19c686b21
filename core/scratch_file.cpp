#include "core/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace heed {
namespace {

constexpr size_t write_size = size_t{1} << 20;

std::string temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  // Not /tmp: there it may be memory.
  return named != nullptr && *named != '\0' ? named : "/var/tmp";
}

}  // namespace

ScratchFile::ScratchFile(std::string_view area, std::string what, size_t memory)
    : area_(area), what_(std::move(what)), memory_(memory) {}

void ScratchFile::append(const void* bytes, size_t count) {
  if (held_.size() + count > memory_) {
    write_held();
    memory_ = std::min(memory_, write_size);
  }
  held_.append(static_cast<const char*>(bytes), count);
  if (held_.size() > memory_) {
    write_held();
  }
}

void ScratchFile::write_held() {
  const auto fail = [&](const char* does) {
    return Error(area_, fmt::format("{}: {} a temporary file in {}: {}; set TMPDIR to a folder "
                                    "with room",
                                    what_, does, folder_, std::strerror(errno)));
  };
  if (!file_.valid()) {
    folder_ = temporary_folder();
    std::string path = folder_ + "/heed-XXXXXX";
    file_ = FileDescriptor(::mkostemp(path.data(), O_CLOEXEC));
    if (!file_.valid() || ::unlink(path.c_str()) != 0) {
      throw fail("cannot make");
    }
  }
  if (!file_.write_all(held_)) {
    throw fail("cannot write to");
  }
  written_ += static_cast<int64_t>(held_.size());
  std::string().swap(held_);
}

void ScratchFile::read_at(int64_t offset, void* into, size_t count) const {
  HEED_ASSERT(offset >= 0 && offset + static_cast<int64_t>(count) <= size(), "{} bytes at {} of {}",
              count, offset, size());
  auto* to = static_cast<char*>(into);
  if (offset < written_) {
    const auto wanted = std::min(count, static_cast<size_t>(written_ - offset));
    const auto got = file_.read_at(offset, to, wanted);
    HEED_CHECK(got == wanted, area_, "{}: its temporary file in {} cannot be read: {}", what_,
               folder_, got ? "it ends too soon" : std::strerror(errno));
    to += wanted;
    offset += static_cast<int64_t>(wanted);
    count -= wanted;
  }
  if (count > 0) {
    std::memcpy(to, held_.data() + (offset - written_), count);
  }
}

}  // namespace heed
