#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/export.h"

// Log lines carry the area they speak of: "[data] 17,955 pairs". They go to stderr (stdout is for
// results) and, once a run has started, to its log.txt. spdlog does the work; only logging.cpp
// includes it.
namespace heed::log {

enum class Level { debug, info, warning, error, off };

HEED_EXPORT void set_level(Level level);
HEED_EXPORT Level level();
// Lines are also appended to this file from here on; an empty path stops that. Other threads may
// be writing. Throws Error when the file cannot be opened.
HEED_EXPORT void set_file(const std::string& path);
// Lines from here on are kept, the last 1000 of them, and begin the file that set_file() opens.
HEED_EXPORT void hold();

HEED_EXPORT void write(Level level, std::string_view area, std::string_view text);

template <typename... Args>
void debug(std::string_view area, fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::debug) {
    write(Level::debug, area, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <typename... Args>
void info(std::string_view area, fmt::format_string<Args...> format, Args&&... args) {
  write(Level::info, area, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(std::string_view area, fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warning, area, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(std::string_view area, fmt::format_string<Args...> format, Args&&... args) {
  write(Level::error, area, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace heed::log
