#include "train/report/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "train/report/display_width.h"

namespace heed::train {
namespace {

constexpr int shortest_bar = 8;
constexpr int longest_bar = 30;
constexpr std::string_view separator = "  ";
constexpr std::string_view clear_line = "\r\x1b[2K";

std::string rate_text(double value) {
  if (value < 999.5) {
    return fmt::format("{:.0f}", value);
  }
  return value < 999.5e3 ? fmt::format("{:.1f}k", value / 1e3)
                         : fmt::format("{:.1f}M", value / 1e6);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::min(seconds, 1e9)));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours >= 48) {
    return fmt::format("{}d {}h", hours / 24, hours % 24);
  }
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string bar_text(double done, int width) {
  const int filled = static_cast<int>(std::lround(std::clamp(done, 0.0, 1.0) * width));
  std::string bar;
  for (int i = 0; i < width; ++i) {
    bar += i < filled ? "━" : "─";
  }
  return bar;
}

int terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_line(const ProgressState& state, int width) {
  struct Part {
    std::string text;
    int rank;  // the parts of the highest ranks go first when room is short
  };
  const bool total = state.total_steps > 0;
  const bool left = std::isfinite(state.seconds_left) && state.seconds_left >= 0;
  const bool rate = std::isfinite(state.tokens_per_second) && state.tokens_per_second > 0;
  std::array<Part, 6> parts = {{
      {total ? fmt::format("{}/{}", state.step, state.total_steps)
             : fmt::format("step {}", state.step),
       0},
      {fmt::format("epoch {:.2f}", state.epoch), 4},
      {fmt::format("loss {:.4g}", state.loss), 1},
      {fmt::format("lr {:.3g}", state.learning_rate), 5},
      {rate ? rate_text(state.tokens_per_second) + " tok/s" : "", 3},
      {left ? duration_text(state.seconds_left) + " left" : "", 2},
  }};
  const auto joined = [&](int ranks) {
    std::string line;
    for (const Part& part : parts) {
      if (part.rank < ranks && !part.text.empty()) {
        line += line.empty() ? "" : separator;
        line += part.text;
      }
    }
    return line;
  };
  int ranks = static_cast<int>(parts.size());
  while (ranks > 1 && display_width(joined(ranks)) > width) {
    --ranks;
  }
  const std::string line = shorten(joined(ranks), width);
  const int room = std::min(longest_bar, width - display_width(line) - 1);
  if (!total || room < shortest_bar) {
    return line;
  }
  const double done = static_cast<double>(state.step) / static_cast<double>(state.total_steps);
  return bar_text(done, room) + ' ' + line;
}

Progress::Progress(bool terminal) : terminal_(terminal) {}

Progress::~Progress() { finish(); }

void Progress::update(const ProgressState& state) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || (drawn_ && now - last_ < std::chrono::milliseconds(100))) {
    return;
  }
  // The last column stays free: some terminals wrap once it is written.
  fmt::print(stderr, "{}{}", clear_line, progress_line(state, terminal_width() - 1));
  std::fflush(stderr);
  drawn_ = true;
  last_ = now;
}

void Progress::finish() {
  if (drawn_) {
    fmt::print(stderr, "{}", clear_line);
    std::fflush(stderr);
    drawn_ = false;
  }
}

}  // namespace heed::train
