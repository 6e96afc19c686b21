#include "train/branch.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/logging.h"

namespace heed::train {

Checkpoint branch(const RunFolder& origin, const RunFolder& folder, const Config& config) {
  Checkpoint saved = origin.load_latest();
  const auto differences = config_differences(saved.config, config);
  std::string refused;
  std::string changed;
  for (const ConfigDifference& difference : differences) {
    (difference.fixed ? refused : changed) += "\n  " + difference.text();
  }
  HEED_CHECK_INPUT(refused.empty(), "run",
                   "a branch of {} has its weights and vocabulary; take back what they are not "
                   "made for:{}",
                   origin.path(), refused);
  log::info("run", "{} branches off from {} at step {}{}{}", folder.path(), origin.path(),
            saved.state.step, changed.empty() ? "" : ":", changed);
  const auto differs = [&](std::string_view prefix) {
    return std::ranges::any_of(differences, [&](const ConfigDifference& difference) {
      return !difference.resumable && difference.key.starts_with(prefix);
    });
  };
  TrainingState& state = saved.state;
  if (differs("train.optimizer")) {
    state.optimizer_steps = 0;
  }
  if (differs("train.schedule")) {
    state.schedule = {};
  }
  if (differs("data.")) {
    saved.training_data.clear();
    state.position = 0;
  }
  if (differs("data.") || differs("train.accumulate")) {
    state.steps_an_epoch = 0;
  }
  state.best = 0;
  state.best_step = -1;
  state.stale_validations = 0;
  state.validation_due = false;
  saved.config = config;
  return saved;
}

}  // namespace heed::train
