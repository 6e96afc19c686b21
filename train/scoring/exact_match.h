#pragma once

#include <span>
#include <string>

#include "core/export.h"

namespace heed::train {

// The fraction (0 to 1) of hypotheses that equal their reference byte for byte. Throws Error when
// there is no sentence or the counts differ.
HEED_EXPORT double exact_match(std::span<const std::string> hypotheses,
                               std::span<const std::string> references);

}  // namespace heed::train
