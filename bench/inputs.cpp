#include "bench/inputs.h"

#include "core/random.h"

namespace heed::bench {

Tensor random(const Shape& shape) {
  const Tensor x = Tensor::empty(shape);
  const RandomState state{.seed = 1};
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data<float>()[i] = 2 * philox_uniform(state, static_cast<uint64_t>(i)) - 1;
  }
  return x;
}

void count_bytes(benchmark::State& state, int64_t floats) {
  state.counters["GB/s"] = benchmark::Counter(4e-9 * static_cast<double>(floats),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void count_flops(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * flops, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace heed::bench
