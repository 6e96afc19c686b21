#pragma once

#include "core/export.h"

namespace heed {

HEED_EXPORT const char* version();  // "0.1.0"

}  // namespace heed
