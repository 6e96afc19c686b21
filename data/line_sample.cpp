#include "data/line_sample.h"

#include "core/logging.h"

namespace heed::data {

LineSample::LineSample(int64_t total, int64_t most)
    : total_(total),
      share_(total <= most ? 1 : static_cast<double>(most) / static_cast<double>(total)) {}

void LineSample::offer(std::string_view line) {
  if (share_ < 1 && coin_.uniform() >= share_) {
    return;
  }
  bytes_ += static_cast<int64_t>(line.size());
  lines_.emplace_back(line);
}

std::vector<std::string> LineSample::take(const std::string& name) {
  constexpr double mega = 1e6;
  if (share_ < 1 && !lines_.empty()) {
    log::info("data", "{}: subwords are learned from {} lines drawn from it, {:.1f} of {:.1f} MB",
              name, lines_.size(), static_cast<double>(bytes_) / mega,
              static_cast<double>(total_) / mega);
  }
  return std::move(lines_);
}

}  // namespace heed::data
