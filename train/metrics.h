#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/export.h"
#include "core/file_descriptor.h"

namespace heed::train {

// One event of a run: a line of metrics.jsonl. A value that is NaN is left out.
struct MetricsEvent {
  std::string event;  // "train" or "validation"
  int64_t step = 0;
  double epoch = 0;
  std::vector<std::pair<std::string, double>> values;  // "loss", "nll", "learning_rate", ...

  double value(const std::string& name) const;  // NaN when it is not there
};

// A run's metrics.jsonl, a line an event, each written at once.
class HEED_EXPORT MetricsFile {
 public:
  // Cuts off, from the first event after `last_step` on, what a run that was stopped will write
  // again, the validation of that step too when it is due; a line that is no event is warned of and
  // ends the file likewise. Throws Error.
  MetricsFile(std::string path, int64_t last_step, bool validation_due = false);

  // An event that the disk has no room for is kept, and tried again with the next.
  void write(const MetricsEvent& event);
  // Throws Error when an event is not safely on the disk: no checkpoint may be ahead of its events.
  void sync();

 private:
  bool write_pending();

  std::string path_;
  FileDescriptor file_;
  int64_t size_ = 0;     // of whole lines in the file
  std::string pending_;  // lines that are not in it yet
};

// Throws InputError naming path and line.
HEED_EXPORT std::vector<MetricsEvent> read_metrics(const std::string& path);

}  // namespace heed::train
