#pragma once

#include <string>

#include "core/export.h"

namespace heed {

// Cores' worth of time that the quotas of cgroup v2 leave a process, at least 1; `otherwise` where
// none is set. groups: the text of /proc/self/cgroup; mount: where the hierarchy is mounted.
HEED_EXPORT int cgroup_cores(const std::string& groups, const std::string& mount, int otherwise);

}  // namespace heed
