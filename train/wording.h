#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/export.h"

namespace heed::train {

// "1 token", "2 tokens".
HEED_EXPORT std::string counted(int64_t count, std::string_view singular);

// The value with so many digits after the point; what rounds to zero has no sign.
HEED_EXPORT std::string fixed(double value, int digits);

}  // namespace heed::train
