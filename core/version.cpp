#include "core/version.h"

namespace heed {

const char* version() { return HEED_VERSION; }

}  // namespace heed
