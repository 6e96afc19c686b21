#include "train/branch.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/logging.h"

namespace heed::train {
namespace {

std::string absolute(const RunFolder& folder) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(folder.path(), ignored).string();
}

}  // namespace

void check_same_config(const Config& saved, const Config& asked, const std::string& folder,
                       bool as_branch) {
  std::string refused;
  bool may_branch = !as_branch;
  for (const ConfigDifference& difference : config_differences(saved, asked)) {
    if (!difference.resumable) {
      refused += "\n  " + difference.text();
      may_branch = may_branch && !difference.fixed;
    }
  }
  std::string remedy = fmt::format("go on as it was (heed train {})", folder);
  if (as_branch) {
    remedy += ", or name another folder with --branch";
  } else if (may_branch) {
    remedy += fmt::format(
        ", train anew in another folder (--run), or make a new run from it (heed train {} "
        "--branch NEW_RUN)",
        folder);
  } else {
    remedy += ", or train anew in another folder (--run)";
  }
  HEED_CHECK_INPUT(refused.empty(), "run", "{} was begun with another config; {}:{}", folder,
                   remedy, refused);
}

void check_origin(const Checkpoint& saved, const RunFolder& origin, const RunFolder& folder) {
  HEED_CHECK_INPUT(absolute(origin) != absolute(folder), "run",
                   "{} cannot be a branch of itself: name a new folder", folder.path());
  HEED_CHECK_INPUT(
      saved.state.branch_of == absolute(origin), "run",
      "{0} is a run already, and no branch of {1}: name a new folder, or go on with it "
      "(heed train {0})",
      folder.path(), origin.path());
}

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
  state.branch_of = absolute(origin);
  state.stale_validations = 0;
  state.validation_due = false;
  saved.config = config;
  return saved;
}

}  // namespace heed::train
