#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/export.h"
#include "core/random.h"
#include "core/tensor.h"
#include "nn/module.h"
#include "train/checkpoint.h"
#include "train/config/config.h"

namespace heed::train {

// What a batch costs, summed over its tokens.
struct BatchLoss {
  Tensor loss;  // scalar, smoothing included: what is differentiated
  Tensor nll;   // scalar, without smoothing
  int64_t tokens = 0;
};

// A number that validation found: its name in metrics.jsonl and its words in the log ("BLEU 12.3";
// empty: not shown there).
struct Figure {
  std::string name;
  double value = 0;
  std::string shown;
};

struct Validation {
  std::vector<Figure> figures;
  double loss = 0;      // nats a token, without smoothing: what the plateau schedule watches
  double goodness = 0;  // the best checkpoint has most of it, and of equal ones the least loss
  std::vector<std::string> samples;
};

// A model with its data, as the trainer sees it.
class HEED_EXPORT Task {
 public:
  virtual ~Task() = default;

  virtual nn::Module& module() = 0;
  // Config, text and weights; state and optimizer are the trainer's.
  virtual Checkpoint checkpoint() const = 0;

  // Plans the batches of an epoch and returns their number: a pure function of the generator's
  // state, which moves on to the next epoch's.
  virtual int64_t plan_epoch(Generator& generator) = 0;
  // Of one batch of the plan.
  virtual BatchLoss loss(int64_t batch) = 0;

  virtual bool has_validation() const = 0;
  virtual Validation validate() = 0;
};

// The task that the config describes: from its first weights, or as a checkpoint left it. Throws
// InputError for a corpus that will not do.
HEED_EXPORT std::unique_ptr<Task> make_task(const Config& config, const Checkpoint* saved);

}  // namespace heed::train
