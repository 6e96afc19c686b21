#pragma once

#include "core/export.h"
#include "train/task.h"
#include "train/translator.h"

namespace heed::train {

// A translator and its sentence pairs.
class HEED_EXPORT TranslationTask final : public Task {
 public:
  TranslationTask(const Config& config, const Checkpoint* saved);

  nn::Module& module() override { return *translator_.model; }
  Checkpoint checkpoint() const override { return checkpoint_of(translator_); }
  int64_t plan_epoch(Generator& generator) override;
  BatchLoss loss(int64_t batch) override;
  bool has_validation() const override { return !validation_.examples.empty(); }
  Validation validate() override;

  Translator& translator() { return translator_; }

 private:
  Translator translator_;
  EncodedCorpus train_;
  EncodedCorpus validation_;
  data::BatchPlan plan_;
};

}  // namespace heed::train
