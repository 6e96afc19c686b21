#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "core/export.h"

namespace heed::train {

// One event of a run: a line of metrics.jsonl. A value that is NaN is left out.
struct MetricsEvent {
  std::string event;  // "train" or "validation"
  int64_t step = 0;
  double epoch = 0;
  std::vector<std::pair<std::string, double>> values;  // "loss", "nll", "learning_rate", ...

  double value(const std::string& name) const;  // NaN when it is not there
};

// Appends to a run's metrics.jsonl, a line an event, flushed.
class HEED_EXPORT MetricsFile {
 public:
  // Events after `last_step` (of a run that was stopped and goes on from there) are dropped.
  MetricsFile(std::string path, int64_t last_step);
  void write(const MetricsEvent& event);

 private:
  std::string path_;
  std::ofstream file_;
};

// Throws InputError naming path and line.
HEED_EXPORT std::vector<MetricsEvent> read_metrics(const std::string& path);

}  // namespace heed::train
