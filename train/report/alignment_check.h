#pragma once

#include "train/report/alignment.h"

namespace heed::train {

// Throws Error unless there are words on both sides and a finite weight for each pair of them.
void check_alignment(const AlignmentPicture& picture);

}  // namespace heed::train
