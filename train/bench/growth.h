#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/bench/measure.h"
#include "train/bench/workload.h"

namespace heed::train {

// A size of the preset gpt-small that is varied while the others stay as they are.
struct GrowthAxis {
  std::string name;
  std::vector<int64_t> sizes;  // rising
  std::function<std::unique_ptr<Workload>(int64_t size)> make;
  bool of_threads = false;  // the size is the thread count
};

// Context at 8,192 tokens a step, width at heads of 32, batch, vocabulary, and threads.
std::vector<GrowthAxis> growth_axes();

struct GrowthPoint {
  int64_t size;
  double flops;  // of a step
  BenchResult result;
};

struct Growth {
  std::string name;
  std::vector<GrowthPoint> points;
};

// Each size for about so many seconds, as measure.
Growth measure_growth(const GrowthAxis& axis, double seconds);

// A line a point: time, flops and memory, each also as a multiple of the smallest size's.
std::string growth_table(const std::vector<Growth>& growths);
// Time a flop and memory against the size, each relative to the smallest size.
std::string growth_svg(const std::vector<Growth>& growths);

}  // namespace heed::train
