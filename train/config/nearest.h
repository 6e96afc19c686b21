#pragma once

#include <string_view>
#include <vector>

#include "core/export.h"

namespace heed::train {

// The candidate that a person who typed `word` most likely meant: few letters changed, left out,
// added or swapped, or the rest of the word missing. Empty when none is near.
HEED_EXPORT std::string_view nearest(std::string_view word,
                                     const std::vector<std::string_view>& candidates);

}  // namespace heed::train
