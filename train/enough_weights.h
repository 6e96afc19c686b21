#pragma once

#include <vector>

#include "train/checkpoint.h"

namespace heed::train {

// A config of a few bytes can describe a model of any size. So before one is made: the checkpoint's
// weights must be as many as its largest matrices alone have. `vocabularies`: their sizes, that of
// the output last. Throws InputError naming the checkpoint and what is too large for it.
void check_enough_weights(const Checkpoint& checkpoint, const std::vector<int64_t>& vocabularies);

}  // namespace heed::train
