#pragma once

#include "core/export.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"

namespace heed::train {

// Throws InputError listing every key whose change would break an exact continuation. as_branch:
// `folder` was named as a branch's.
void check_same_config(const Config& saved, const Config& asked, const std::string& folder,
                       bool as_branch);

// A branch remembers where it came from, so that only the command that made it goes on with it.
// Throws InputError when `folder`, where `saved` lies, is no branch of `origin`.
void check_origin(const Checkpoint& saved, const RunFolder& origin, const RunFolder& folder);

// The latest checkpoint of `origin` as the beginning of a new run in `folder` under a changed
// config: weights and steps, and what the change leaves its meaning of the optimizer's state, the
// schedule's and the place in the epoch (else the epoch begins anew; steps_an_epoch is then 0, to
// be counted). Validation has found nothing yet. Throws InputError when the config
// differs in what weights or vocabulary are made for.
HEED_EXPORT Checkpoint branch(const RunFolder& origin, const RunFolder& folder,
                              const Config& config);

}  // namespace heed::train
