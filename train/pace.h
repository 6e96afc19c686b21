#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace heed::train {

// How fast a training goes, since it was made, at a step.
class Pace {
 public:
  explicit Pace(int64_t step = 0) : first_step_(step) {}
  void count(int64_t tokens) { tokens_ += tokens; }

  double tokens_per_second() const { return static_cast<double>(tokens_) / seconds(); }
  double seconds_left(int64_t step, int64_t total_steps) const {
    const auto steps = static_cast<double>(std::max<int64_t>(1, step - first_step_));
    return seconds() / steps * static_cast<double>(total_steps - step);
  }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const {
    return std::max(std::chrono::duration<double>(Clock::now() - start_).count(), 1e-9);
  }

  Clock::time_point start_ = Clock::now();
  int64_t first_step_;
  int64_t tokens_ = 0;
};

}  // namespace heed::train
