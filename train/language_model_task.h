#pragma once

#include <functional>
#include <vector>

#include "core/export.h"
#include "train/language_model.h"
#include "train/task.h"

namespace heed::train {

// A language model and its text.
class HEED_EXPORT LanguageModelTask final : public Task {
 public:
  LanguageModelTask(const Config& config, const Checkpoint* saved);

  nn::Module& module() override { return *language_model_.model; }
  Checkpoint checkpoint() const override { return checkpoint_of(language_model_); }
  int64_t plan_epoch(Generator& generator) override;
  BatchLoss loss(int64_t batch) override;
  bool has_validation() const override { return !validation_.ids.empty(); }
  Validation validate() override;

  LanguageModel& language_model() { return language_model_; }

 private:
  LanguageModel language_model_;
  EncodedText train_;
  EncodedText validation_;
  // Where the windows of a batch of the epoch begin.
  std::function<std::vector<int64_t>(int64_t batch)> starts_;
};

}  // namespace heed::train
