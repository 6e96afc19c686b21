#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/export.h"

namespace heed {

// The whole file. Throws InputError: "[area] PATH: no such file" and the like; a folder and a file
// over `most_bytes` are refused.
HEED_EXPORT std::string read_file(std::string_view area, const std::string& path,
                                  int64_t most_bytes = int64_t{1} << 40);

// What files in the making end with; one that a killed process left may be removed.
inline constexpr std::string_view temporary_suffix = ".tmp";

// Writes to a temporary name beside it, syncs, renames, and syncs the folder: whoever reads finds
// the old file or the new one, whole. Throws Error naming path and cause; the old file then stays
// (but for a folder that cannot be synced: the new one is there, a power cut may undo it).
HEED_EXPORT void write_file(std::string_view area, const std::string& path,
                            std::string_view content);

// `alias` becomes another name of `file` (a copy where the file system knows no such names), in
// place of what it named before, in one move and synced as by write_file. Throws Error likewise.
HEED_EXPORT void link_file(std::string_view area, const std::string& file,
                           const std::string& alias);

// Bytes that this user may still write to the file system of a path; nothing where it does not say.
HEED_EXPORT std::optional<int64_t> free_bytes(const std::string& path);

}  // namespace heed
