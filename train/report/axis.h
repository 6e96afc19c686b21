#pragma once

#include <string>
#include <vector>

#include "train/report/chart.h"

namespace heed::train {

struct Tick {
  double value;
  std::string label;
};

// Multiples of 1, 2 or 5 times a power of ten within [low, high], about `count` of them. Needs
// finite low < high.
std::vector<Tick> linear_ticks(double low, double high, int count);

// The same for a log axis, 0 < low < high: powers of ten, with their multiples by 2 and 5 while
// there are few; linear ticks where the axis spans less than one of those.
std::vector<Tick> log_ticks(double low, double high, int count);

// The range of an axis that shows low to high: equal ends are moved apart.
Range padded_range(double low, double high, bool log);

}  // namespace heed::train
