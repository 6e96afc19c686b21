#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/export.h"
#include "train/optimizer.h"
#include "train/task.h"

namespace heed::train {

// Makes gradients of several batches into one step of the optimizer.
class HEED_EXPORT Updater {
 public:
  Updater(const TrainConfig& config, Task& task);

  struct Outcome {
    double loss = 0;  // both summed over the tokens
    double nll = 0;
    int64_t tokens = 0;
    double gradient_norm = 0;  // of the mean over tokens, before clipping
    bool applied = false;      // false: something was not finite and the config says to skip that
  };
  // Of up to train.accumulate batches from state.position on, `batches` being all of the epoch;
  // position and step move on. Losses are sums until here, so that however the batches were split
  // the update is the same. Throws Stopped between two batches, with everything as before, and
  // Error where a loss or gradient is not finite and the config says to stop.
  Outcome update(TrainingState& state, int64_t batches, double learning_rate);

  Optimizer& optimizer() { return *optimizer_; }

 private:
  Outcome sum_gradients(TrainingState& state, int64_t batches) const;
  void skip(TrainingState& state, const std::string& what) const;
  std::string first_bad_gradient() const;

  const TrainConfig config_;
  Task& task_;
  std::vector<NamedTensor> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace heed::train
