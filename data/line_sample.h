#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"
#include "core/random.h"

namespace heed::data {

// About `most` bytes out of `total` that come line by line: all lines when they fit, else each one
// or not, by the throw of a coin. The same lines give the same sample. Long lines count as several,
// of 4 KiB each.
class HEED_EXPORT LineSample {
 public:
  LineSample(int64_t total, int64_t most);
  void offer(std::string_view line);
  // Logs how much of `name` it is when it is not all.
  std::vector<std::string> take(const std::string& name);

 private:
  int64_t total_;
  double share_;
  Generator coin_;
  std::vector<std::string> lines_;
  int64_t bytes_ = 0;
};

}  // namespace heed::data
