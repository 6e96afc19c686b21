#pragma once

#include "train/config/config.h"

namespace heed::train {

// Makes the process compute as [run] says: device, precision, threads. Throws InputError for what
// is not there.
void configure_machine(const RunConfig& run);

// The version and what it runs on: what the numbers of a log depend on.
void log_machine(const RunConfig& run);

}  // namespace heed::train
