#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/export.h"

namespace heed {

// The whole file. Throws InputError: "[area] PATH: no such file" and the like; a folder and a file
// over `most_bytes` are refused.
HEED_EXPORT std::string read_file(std::string_view area, const std::string& path,
                                  int64_t most_bytes = int64_t{1} << 40);

// Writes to a temporary name beside it, syncs, renames, and syncs the folder: whoever reads finds
// the old file or the new one, whole. Throws Error naming path and cause; the old file then stays.
HEED_EXPORT void write_file(std::string_view area, const std::string& path,
                            std::string_view content);

}  // namespace heed
