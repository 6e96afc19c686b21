#include "data/line_sample.h"

#include <algorithm>
#include <utility>

#include "core/logging.h"

namespace heed::data {
namespace {

// SentencePiece passes over sentences of more than 4192 bytes.
constexpr size_t part_size = 4096;

// Of whole characters.
std::string_view first_part(std::string_view line) {
  size_t end = std::min(line.size(), part_size);
  while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) {
    ++end;
  }
  return line.substr(0, end);
}

}  // namespace

LineSample::LineSample(int64_t total, int64_t most)
    : total_(total),
      share_(total <= most ? 1 : static_cast<double>(most) / static_cast<double>(total)) {}

void LineSample::offer(std::string_view line) {
  while (!line.empty()) {
    const std::string_view part = first_part(line);
    line.remove_prefix(part.size());
    if (share_ >= 1 || coin_.uniform() < share_) {
      bytes_ += static_cast<int64_t>(part.size());
      lines_.emplace_back(part);
    }
  }
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
