#include "train/run_log.h"

#include <charconv>
#include <filesystem>
#include <string_view>

#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"

namespace heed::train {
namespace {

// Of "DATE TIME [train] step 12/80 ..." and its like; 0 for other lines.
int64_t step_of(std::string_view line) {
  for (const std::string_view area : {" [train] ", " [validation] "}) {
    const size_t at = line.find(area);
    if (at == std::string_view::npos) {
      continue;
    }
    line.remove_prefix(at + area.size());
    for (const std::string_view word : {"warning: ", "step "}) {
      if (line.starts_with(word)) {
        line.remove_prefix(word.size());
      }
    }
    int64_t step = 0;
    std::from_chars(line.data(), line.data() + line.size(), step);
    return step;
  }
  return 0;
}

size_t size_until(std::string_view text, int64_t last_step) {
  size_t size = 0;
  while (size < text.size()) {
    const size_t end = text.find('\n', size);
    if (end == std::string_view::npos || step_of(text.substr(size, end - size)) > last_step) {
      break;
    }
    size = end + 1;
  }
  return size;
}

}  // namespace

RunLog::RunLog() { log::hold(); }
RunLog::~RunLog() { log::set_file(""); }

void RunLog::open(const std::string& path, int64_t last_step) {
  if (std::filesystem::exists(path)) {
    std::error_code failure;
    std::filesystem::resize_file(path, size_until(read_file("log", path), last_step), failure);
    HEED_CHECK(!failure, "log", "{}: cannot be written: {}", path, failure.message());
  }
  log::set_file(path);
}

}  // namespace heed::train
