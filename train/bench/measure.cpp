#include "train/bench/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "core/memory.h"
#include "core/threads.h"
#include "kernels/backend.h"

namespace heed::train {
namespace {

constexpr double mib = 1024.0 * 1024.0;

// The host goes on while a device works: to read a number from it is to wait for it.
void wait_for_device() {
  if (default_device().kind != DeviceKind::cpu) {
    static_cast<void>(Tensor::zeros({1}).to_doubles());
  }
}

template <typename F>
double seconds_of(F&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  wait_for_device();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What the device can do at best, large products, and how fast the host reads memory.
class Machine {
 public:
  double sgemm_gflops() {
    const double seconds = seconds_of([&] { kernels::backend(a_).matmul(a_, b_, y_, 0); });
    return 2 * std::pow(static_cast<double>(size), 3) / seconds / 1e9;
  }
  // Over 64 MiB, more than caches hold.
  double read_bytes_per_second() {
    const float* data = memory_.data<float>();
    const double seconds = seconds_of([&] {
      parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t chunk = begin; chunk < end; ++chunk) {
          sums_[static_cast<size_t>(chunk)] = read(data + chunk * chunk_size);
        }
      });
    });
    return static_cast<double>(chunks * chunk_size) * sizeof(float) / seconds;
  }

 private:
  // Many sums, which the compiler keeps in vectors.
  static float read(const float* data) {
    float sums[64] = {};
    for (int64_t i = 0; i < chunk_size; i += 64) {
      for (int64_t j = 0; j < 64; ++j) {
        sums[j] += data[i + j];
      }
    }
    return std::accumulate(std::begin(sums), std::end(sums), 0.0F);
  }

  static constexpr int64_t size = 2048;
  static constexpr int64_t chunks = 64;
  static constexpr int64_t chunk_size = 1 << 18;
  Tensor a_ = Tensor::zeros({size, size}, DType::f32);
  Tensor b_ = Tensor::zeros({size, size}, DType::f32);
  Tensor y_ = Tensor::zeros({size, size}, DType::f32);
  Tensor memory_ = Tensor::zeros({chunks * chunk_size}, DType::f32, Device{});
  std::vector<float> sums_ = std::vector<float>(chunks);
};

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // KiB on Linux
}

// Of one run, what it holds at most less what it leaves.
double extra_mib(Workload& workload) {
  DeviceMemory& memory = device_memory(default_device());
  memory.reset_peak();
  workload.run();
  const MemoryStatistics statistics = memory.statistics();
  return static_cast<double>(statistics.peak_in_use - statistics.in_use) / mib;
}

}  // namespace

BenchResult measure(Workload& workload, double seconds) {
  BenchResult result;
  workload.run();  // makes what later runs keep: the states of an optimizer
  result.extra_mib = extra_mib(workload);
  result.peak_rss_mib = peak_rss_mib();  // before what is only here to compare with
  Machine machine;
  machine.sgemm_gflops();
  // A few runs between two products, so that each gets about as long.
  std::vector<double> times = {seconds_of([&] { workload.run(); })};
  double spent = times.front();
  const auto runs_at_once = std::max<int64_t>(1, static_cast<int64_t>(0.2 / std::max(spent, 1e-6)));
  std::vector<double> peaks;
  std::vector<double> reads;
  while (times.size() < 3 || spent < seconds) {
    peaks.push_back(machine.sgemm_gflops());
    if (workload.weight_bytes() > 0) {
      reads.push_back(machine.read_bytes_per_second());
    }
    for (int64_t i = 0; i < runs_at_once; ++i) {
      times.push_back(seconds_of([&] { workload.run(); }));
      spent += times.back();
    }
  }
  result.runs = static_cast<int64_t>(times.size());
  result.seconds_per_step = median(times);
  result.tokens_per_second = static_cast<double>(workload.tokens()) / result.seconds_per_step;
  result.gflops = workload.flops() / result.seconds_per_step / 1e9;
  result.sgemm_peak_gflops = median(peaks);
  result.share_of_peak = result.gflops / result.sgemm_peak_gflops;
  if (!reads.empty()) {
    result.weight_read_seconds = workload.weight_bytes() / median(reads);
  }
  return result;
}

}  // namespace heed::train
