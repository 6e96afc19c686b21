#include "train/bench/growth.h"

#include <fmt/format.h>

#include <cmath>

#include "core/logging.h"
#include "core/threads.h"
#include "train/bench/training_workloads.h"
#include "train/report/chart.h"
#include "train/report/svg.h"
#include "train/report/table.h"

namespace heed::train {
namespace {

std::vector<int64_t> multiples(int64_t first, int64_t factor, int64_t last) {
  std::vector<int64_t> sizes;
  for (int64_t size = first; size <= last; size *= factor) {
    sizes.push_back(size);
  }
  return sizes;
}

// Sets back the number of threads, whatever happens.
class ThreadCountScope {
 public:
  ThreadCountScope() = default;
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;
  ~ThreadCountScope() { set_thread_count(before_); }

 private:
  int before_ = thread_count();
};

Series relative(const Growth& growth, const std::function<double(const GrowthPoint&)>& cost) {
  Series series{growth.name, {}, {}, true};
  const GrowthPoint& first = growth.points.front();
  for (const GrowthPoint& point : growth.points) {
    const auto times = static_cast<double>(point.size) / static_cast<double>(first.size);
    series.x.push_back(std::log2(times));
    series.y.push_back(cost(point) / cost(first));
  }
  return series;
}

double seconds_a_flop(const GrowthPoint& point) {
  return point.result.seconds_per_step / point.flops;
}
double memory(const GrowthPoint& point) { return point.result.extra_mib; }

}  // namespace

std::vector<GrowthAxis> growth_axes() {
  const auto context = [](int64_t size) {
    constexpr int64_t tokens = 8192;
    nn::CausalLmOptions options = gpt_small();
    options.context = size;
    return train_causal_lm(options, tokens / size);
  };
  const auto width = [](int64_t size) {
    nn::CausalLmOptions options = gpt_small();
    options.width = size;
    options.heads = size / 32;
    return train_causal_lm(options, gpt_small_batch);
  };
  const auto vocabulary = [](int64_t size) {
    nn::CausalLmOptions options = gpt_small();
    options.vocabulary = size;
    return train_causal_lm(options, gpt_small_batch);
  };
  return {{"context", multiples(64, 2, 8192), context},
          {"width", multiples(64, 2, 1024), width},
          {"batch", multiples(1, 2, 64),
           [](int64_t size) { return train_causal_lm(gpt_small(), size); }},
          {"vocabulary", multiples(100, 10, 100'000), vocabulary},
          {"threads", multiples(1, 2, available_cores()),
           [](int64_t) { return train_causal_lm(gpt_small(), gpt_small_batch); }, true}};
}

Growth measure_growth(const GrowthAxis& axis, double seconds) {
  Growth growth{axis.name, {}};
  const ThreadCountScope as_before;
  for (const int64_t size : axis.sizes) {
    if (axis.of_threads) {
      set_thread_count(static_cast<int>(size));
    }
    const auto workload = axis.make(size);
    growth.points.push_back({size, workload->flops(), measure(*workload, seconds)});
    log::info("bench", "{} {}: {:.2f} ms", axis.name, size,
              1e3 * growth.points.back().result.seconds_per_step);
  }
  return growth;
}

std::string growth_table(const std::vector<Growth>& growths) {
  TextTable table({"varied", "size", "ms a step", "times", "GFLOP", "times", "extra MiB", "times"},
                  {false, true, true, true, true, true, true, true});
  for (const Growth& growth : growths) {
    const GrowthPoint& first = growth.points.front();
    for (const GrowthPoint& point : growth.points) {
      const double seconds = point.result.seconds_per_step;
      table.add({growth.name, fmt::to_string(point.size), fmt::format("{:.2f}", 1e3 * seconds),
                 fmt::format("{:.1f}", seconds / first.result.seconds_per_step),
                 fmt::format("{:.2f}", point.flops / 1e9),
                 fmt::format("{:.1f}", point.flops / first.flops),
                 fmt::format("{:.1f}", memory(point)),
                 fmt::format("{:.1f}", memory(point) / memory(first))});
    }
  }
  return table.text();
}

std::string growth_svg(const std::vector<Growth>& growths) {
  ChartOptions time;
  time.title = "Time a flop, the smallest size = 1";
  time.x_label = "doublings of the smallest size";
  time.y_label = "times";
  time.log_y = true;
  ChartOptions bytes = time;
  bytes.title = "Memory beyond model and optimizer, the smallest size = 1";
  std::vector<Series> times;
  std::vector<Series> memories;
  for (const Growth& growth : growths) {
    times.push_back(relative(growth, seconds_a_flop));
    memories.push_back(relative(growth, memory));
  }
  return fmt::format(
      "{}{}<g transform=\"translate(0 {})\">{}</g>\n</svg>\n",
      svg::open(time.width, time.height + bytes.height, "How a training step grows with its sizes"),
      line_chart_svg(times, time), time.height, line_chart_svg(memories, bytes));
}

}  // namespace heed::train
