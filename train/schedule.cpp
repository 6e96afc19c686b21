#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heed::train {

Schedule::Schedule(const TrainConfig& config, int64_t total_steps, int64_t width)
    : config_(config), total_steps_(total_steps), width_(width) {}

double Schedule::learning_rate(int64_t step) const {
  const double peak = config_.learning_rate;
  const auto now = static_cast<double>(step);
  const auto warmup = static_cast<double>(config_.warmup_steps);
  if (config_.schedule == "noam") {
    return peak / std::sqrt(static_cast<double>(width_)) *
           std::min(1 / std::sqrt(now), now * std::pow(warmup, -1.5));
  }
  if (step < config_.warmup_steps) {
    return peak * now / warmup;
  }
  if (config_.schedule == "inverse_sqrt") {
    return peak * std::sqrt(std::max(warmup, 1.0) / now);
  }
  if (config_.schedule == "cosine") {
    const double span = std::max(1.0, static_cast<double>(total_steps_) - warmup);
    const double progress = std::clamp((now - warmup) / span, 0.0, 1.0);
    return config_.min_learning_rate +
           (peak - config_.min_learning_rate) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
  }
  return std::max(peak * state_.factor, config_.min_learning_rate);
}

void Schedule::after_validation(double loss) {
  if (config_.schedule != "plateau") {
    return;
  }
  if (std::isfinite(loss) && (!state_.has_best || loss < state_.best)) {
    state_.best = loss;
    state_.has_best = true;
    state_.stale = 0;
    return;
  }
  if (++state_.stale >= config_.plateau_patience) {
    state_.factor *= config_.plateau_factor;
    state_.stale = 0;
  }
}

}  // namespace heed::train
