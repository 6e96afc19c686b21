#pragma once

#include "core/export.h"

namespace heed::train {

// The `heed` program: its commands, help and error policy. Returns the exit code: 0, 1 for a
// failure while running, 2 for a bad command line, config or input. Never throws.
HEED_EXPORT int run_program(int argc, const char* const* argv);

}  // namespace heed::train
