#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/export.h"
#include "train/optimizer.h"
#include "train/task.h"
#include "train/update_report.h"

namespace heed::train {

// Makes gradients of several batches into one step of the optimizer.
class HEED_EXPORT Updater {
 public:
  Updater(const TrainConfig& config, Task& task);

  struct Outcome {
    int64_t step = 0;
    int64_t tokens = 0;
    double learning_rate = 0;
    UpdateReport::Numbers numbers;  // NaN where a batch was given up (NotFinite)
    // false: something was not finite and the config says to skip that
    bool applied() const { return numbers.applied; }
  };
  // Of up to train.accumulate batches from state.position on, `batches` being all of the epoch;
  // position and step move on. Losses are sums until here, so that however the batches were split
  // the update is the same. Returns what became of the update before, as settle() does: the host
  // looks at it when the device has the next batches to do, and never waits for an idle device.
  // Throws Stopped between two batches, and what settle() throws: everything is as before then.
  std::optional<Outcome> update(TrainingState& state, int64_t batches, double learning_rate);
  // Waits for the last update; nothing when its outcome was told already. Throws Error where a loss
  // or gradient was not finite and the config says to stop.
  std::optional<Outcome> settle(TrainingState& state);

  // Of the update whose outcome was not told yet.
  int64_t tokens_under_way() const { return unsettled_ ? unsettled_->outcome.tokens : 0; }

  Optimizer& optimizer() { return *optimizer_; }

 private:
  // An update that the device was given.
  struct Given {
    Outcome outcome;    // its numbers come later
    std::string wrong;  // what kept the optimizer from it
  };

  Given sum_gradients(TrainingState& state, int64_t batches);
  void skip(TrainingState& state, const std::string& what) const;

  const TrainConfig config_;
  Task& task_;
  std::vector<NamedTensor> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  UpdateReport report_;
  std::optional<Given> unsettled_;
};

}  // namespace heed::train
