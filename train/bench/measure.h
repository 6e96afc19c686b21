#pragma once

#include "train/bench/workload.h"

namespace heed::train {

// Medians of runs that alternate with a matrix product, so that whatever else the machine does
// slows both.
struct BenchResult {
  int64_t runs = 0;
  double seconds_per_step = 0;  // a run
  double tokens_per_second = 0;
  double gflops = 0;             // a second
  double sgemm_peak_gflops = 0;  // of products 2048 x 2048 x 2048, the same threads
  double share_of_peak = 0;
  double weight_read_seconds = 0;  // to read the weights from memory as often; 0: does not apply
  double peak_rss_mib = 0;         // of the process, all that it did before included
  double extra_mib = 0;            // the most a run held beyond what it left
};

// Warms up, then runs for about so many seconds, three times at least.
BenchResult measure(Workload& workload, double seconds);

}  // namespace heed::train
