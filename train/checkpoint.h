#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/export.h"
#include "core/random.h"
#include "core/safetensors.h"
#include "train/config/config.h"
#include "train/schedule.h"
#include "train/text_side.h"

namespace heed::train {

// Where a training stands: with the weights and the optimizer's state, all that an exact
// continuation needs.
struct TrainingState {
  int64_t step = 0;             // updates done, skipped ones counted
  int64_t optimizer_steps = 0;  // updates applied
  int64_t epoch = 0;            // epochs finished
  int64_t position = 0;         // batches of the present epoch that were used
  int64_t steps_an_epoch = 1;   // of the first epoch; what `epochs` and schedules count by
  RandomState epoch_random;     // the shuffling generator as the epoch began
  RandomState dropout_random;
  Schedule::State schedule;
  double best = 0;         // by train.best_by
  double best_loss = 0;    // of that validation, which decides between equal ones
  int64_t best_step = -1;  // -1: nothing was validated yet
  int64_t stale_validations = 0;
  int64_t skipped_in_a_row = 0;  // updates that were not finite
  bool validation_due = false;   // the last update's validation was stopped
  std::string branch_of;         // the run folder that this one branched from, an absolute path
  // Of the log line in the making:
  double window_loss = 0;
  double window_nll = 0;
  int64_t window_tokens = 0;
  bool finished = false;

  bool operator==(const TrainingState&) const = default;
};

// A run at rest, of whatever kind its model is (see restore_translator, restore_language_model).
struct Checkpoint {
  Config config;
  TextState text;
  std::string training_data;  // its fingerprint; empty: not known
  std::vector<NamedTensor> weights;
  std::map<std::string, std::string> aliases;  // of shared weights, as Module::aliases
  TrainingState state;
  TensorFile optimizer;  // the tensors of Optimizer::state
  std::string path;      // where it was read from, for messages
};

// One safetensors file: weights under their names, optimizer state as optimizer/NAME, and in the
// header the config, the text side (tokenizers, vocabularies), the training data's fingerprint, the
// state, a format version and a checksum over everything. Written whole or not at all.
HEED_EXPORT void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
HEED_EXPORT std::string encode_checkpoint(const Checkpoint& checkpoint);  // the bytes of that file

// Throws InputError when the training data has another fingerprint than the checkpoint's. `name`:
// of the data, for the message.
HEED_EXPORT void check_same_data(const Checkpoint& saved, const std::string& fingerprint,
                                 const std::string& name);

// The bytes are not those that were written: a flipped bit, a cut.
class HEED_EXPORT DamagedCheckpoint : public InputError {
 public:
  using InputError::InputError;
};

// Throws InputError naming the path: not there, not to be read, of a newer format; of what has no
// checksum or another one a DamagedCheckpoint.
HEED_EXPORT Checkpoint load_checkpoint(const std::string& path);
HEED_EXPORT Checkpoint decode_checkpoint(std::string bytes, const std::string& path);

}  // namespace heed::train
