#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/export.h"

namespace heed::train {

struct ProgressState {
  int64_t step = 0;
  int64_t total_steps = 0;  // 0: unknown
  double epoch = 0.0;
  double loss = 0.0;
  double learning_rate = 0.0;
  double tokens_per_second = 0.0;
  double seconds_left = -1.0;  // negative: unknown
};

// One line of at most `width` columns, with a bar when there is room for one:
//   ━━━━━━━────── 500/1000  epoch 1.25  loss 3.214  lr 0.001  12.3k tok/s  2:05 left
HEED_EXPORT std::string progress_line(const ProgressState& state, int width);

// A line on standard error that is rewritten in place, at most ten times a second. Silent when
// standard error is no terminal.
class HEED_EXPORT Progress {
 public:
  explicit Progress(bool terminal);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(const ProgressState& state);

  // Clears the line: before something else is printed, and at the end. A later update draws again.
  void finish();

 private:
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace heed::train
