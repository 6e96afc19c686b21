#pragma once

#include "core/export.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"

namespace heed::train {

// The latest checkpoint of `origin` as the beginning of a new run in `folder` under a changed
// config: weights and steps, and what the change leaves its meaning of the optimizer's state, the
// schedule's and the place in the epoch (else the epoch begins anew; steps_an_epoch is then 0, to
// be counted). Validation has found nothing yet. Throws InputError when the config
// differs in what weights or vocabulary are made for.
HEED_EXPORT Checkpoint branch(const RunFolder& origin, const RunFolder& folder,
                              const Config& config);

}  // namespace heed::train
