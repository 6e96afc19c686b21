#pragma once

#include <string>
#include <vector>

#include "train/report/chart.h"

namespace heed::train {

struct Tick {
  double value;
  std::string label;
};

// Multiples of 1, 2 or 5 times a power of ten within [low, high], about `count` of them, whole ones
// alone where the axis counts. Needs finite low < high.
std::vector<Tick> linear_ticks(double low, double high, int count, bool whole = false);

struct Axis {
  Range range;
  std::vector<Tick> ticks;
};

// A range whose ends are moved out to the next ticks, about `count` of them in all.
Axis linear_axis(Range range, int count);

// The same for a log axis, 0 < low < high: powers of ten, and of their multiples as many as there
// is room for; linear ticks within the range where it spans less than a doubling.
Axis log_axis(Range range, int count);

// The range of an axis that shows low to high: equal ends are moved apart.
Range padded_range(double low, double high, bool log);

}  // namespace heed::train
