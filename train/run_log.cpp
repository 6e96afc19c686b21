#include "train/run_log.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"

namespace heed::train {
namespace {

constexpr std::string_view train_area = "[train] ";
constexpr std::string_view validation_area = "[validation] ";

// A line without its time; nothing where no time begins it, as in a sample of several lines.
std::string_view without_time(std::string_view line) {
  constexpr std::string_view time = "0000-00-00 00:00:00 ";
  if (line.size() < time.size()) {
    return {};
  }
  const bool fits = std::equal(time.begin(), time.end(), line.begin(), [](char shape, char c) {
    return shape == '0' ? c >= '0' && c <= '9' : c == shape;
  });
  return fits ? line.substr(time.size()) : std::string_view();
}

// Of "[train] step 12/80 ..." and its like; 0 for other lines.
int64_t step_of(std::string_view line) {
  for (const std::string_view area : {train_area, validation_area}) {
    if (!line.starts_with(area)) {
      continue;
    }
    line.remove_prefix(area.size());
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

size_t size_until(std::string_view text, int64_t last_step, bool validation_due) {
  size_t size = 0;
  while (size < text.size()) {
    const size_t end = text.find('\n', size);
    if (end == std::string_view::npos) {
      break;
    }
    const std::string_view line = without_time(text.substr(size, end - size));
    const int64_t step = step_of(line);
    if (step > last_step ||
        (validation_due && step == last_step && line.starts_with(validation_area))) {
      break;
    }
    size = end + 1;
  }
  return size;
}

}  // namespace

RunLog::RunLog() { log::hold(); }
RunLog::~RunLog() { log::set_file(""); }

void RunLog::open(const std::string& path, int64_t last_step, bool validation_due) {
  if (std::filesystem::exists(path)) {
    std::error_code failure;
    std::filesystem::resize_file(
        path, size_until(read_file("log", path), last_step, validation_due), failure);
    HEED_CHECK(!failure, "log", "{}: cannot be written: {}", path, failure.message());
  }
  log::set_file(path);
}

}  // namespace heed::train
