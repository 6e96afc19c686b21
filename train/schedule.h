#pragma once

#include <cstdint>
#include <string>

#include "core/export.h"
#include "train/config/config.h"

namespace heed::train {

// The learning rate of each step, counted from 1. All warm up linearly over warmup_steps first.
//   constant      learning_rate
//   inverse_sqrt  learning_rate * sqrt(warmup / step) after the warm-up (Vaswani et al. 2017, 5.3,
//                 with the peak as learning_rate)
//   noam          learning_rate * width^-0.5 * min(step^-0.5, step * warmup^-1.5): the same with
//                 the factor of the paper as learning_rate
//   cosine        from learning_rate to min_learning_rate along half a cosine until total_steps
//   plateau       times plateau_factor whenever the validation loss has not improved for
//                 plateau_patience validations in a row
class HEED_EXPORT Schedule {
 public:
  // width: of the model, which noam alone asks for.
  Schedule(const TrainConfig& config, int64_t total_steps, int64_t width = 1);

  double learning_rate(int64_t step) const;
  void after_validation(double loss);  // only plateau takes notice

  // What plateau remembers; saved in the checkpoint.
  struct State {
    double factor = 1;
    double best = 0;
    bool has_best = false;
    int64_t stale = 0;
    bool operator==(const State&) const = default;
  };
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  TrainConfig config_;
  int64_t total_steps_;
  int64_t width_;
  State state_;
};

}  // namespace heed::train
