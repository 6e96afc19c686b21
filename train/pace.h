#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace heed::train {

// How fast a training goes since this was made, at a step.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pace(int64_t step = 0, Clock::time_point start = Clock::now())
      : start_(start), first_step_(step) {}

  void count(int64_t tokens) { tokens_ += tokens; }

  double tokens_per_second(Clock::time_point now = Clock::now()) const {
    return static_cast<double>(tokens_) / seconds(now);
  }
  double seconds_left(int64_t step, int64_t total_steps,
                      Clock::time_point now = Clock::now()) const {
    const auto steps = static_cast<double>(std::max<int64_t>(1, step - first_step_));
    return seconds(now) / steps * static_cast<double>(total_steps - step);
  }

 private:
  double seconds(Clock::time_point now) const {
    return std::max(std::chrono::duration<double>(now - start_).count(), 1e-9);
  }

  Clock::time_point start_;
  int64_t first_step_;
  int64_t tokens_ = 0;
};

}  // namespace heed::train
