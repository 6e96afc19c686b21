#pragma once

#include <memory>
#include <string>

#include "core/export.h"
#include "train/run_folder.h"
#include "train/task.h"

namespace heed::train {

enum class TrainingEnd { finished, interrupted };

// Trains into a run folder: batches, gradients, updates, validation, checkpoints. What is learned
// from what is its Task's (translation_task.h, language_model_task.h). An
// existing run is continued from its last checkpoint to the same bytes it would have reached
// without the stop.
class HEED_EXPORT Trainer {
 public:
  // Throws InputError for a config or corpus that will not do, for a run whose config differs in a
  // key that an exact continuation depends on, and for one that another process is training.
  // branch_of: a run whose latest checkpoint the new run in the folder begins with (branch.h).
  Trainer(const Config& config, const RunFolder& folder, const RunFolder* branch_of = nullptr);
  ~Trainer();

  // After request_stop() (core/interrupt.h) it saves and ends, interrupted. Throws Error when a
  // loss or gradient is not finite and the config says to stop.
  TrainingEnd run();
  Task& task();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heed::train
