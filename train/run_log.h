#pragma once

#include <cstdint>
#include <string>

#include "core/export.h"

namespace heed::train {

// The log of a run while one lives: the lines from its beginning on, in log.txt once that is
// open.
class HEED_EXPORT RunLog {
 public:
  RunLog();
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // Cuts off what a run that was stopped says again: from the first line on that speaks of an
  // update after `last_step`, or of the validation of that step when it is due. Throws Error.
  void open(const std::string& path, int64_t last_step, bool validation_due = false);
};

}  // namespace heed::train
