#include <benchmark/benchmark.h>
#include <cblas.h>

#include "bench/inputs.h"
#include "core/threads.h"

// Products at the sizes of a small model, beside OpenBLAS's own threaded sgemm: the limit.
namespace heed::bench {
namespace {

void sgemm(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const Tensor a = random({m, k}), b = random({k, n}), y = random({m, n});
  cpu();  // its constructor sets OpenBLAS's threads, to 1
  openblas_set_num_threads(thread_count());
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(m), static_cast<int>(n),
                static_cast<int>(k), 1, a.data<float>(), static_cast<int>(k), b.data<float>(),
                static_cast<int>(n), 0, y.data<float>(), static_cast<int>(n));
  }
  openblas_set_num_threads(1);
  count_flops(state, 2 * static_cast<double>(m * n * k));
}

void matmul(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const Tensor a = random({m, k}), b = random({k, n}), y = random({m, n});
  for (auto _ : state) {
    cpu().matmul(a, b, y, 0);
  }
  count_flops(state, 2 * static_cast<double>(m * n * k));
}

void linear(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const Tensor x = random({m, k}), w = random({n, k}), bias = random({n}), y = random({m, n});
  for (auto _ : state) {
    cpu().linear(x, w, bias, y);
  }
  count_flops(state, 2 * static_cast<double>(m * n * k));
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"m", "n", "k"})->UseRealTime();
  benchmark->Args({2048, 2048, 2048});  // the peak
  benchmark->Args({768, 512, 128});     // a feed-forward layer, 128 wide
  benchmark->Args({64, 768, 256});      // a GRU step, 256 wide
  benchmark->Args({1024, 4096, 256});   // logits over a vocabulary
}

BENCHMARK(sgemm)->Apply(sizes);
BENCHMARK(matmul)->Apply(sizes);
BENCHMARK(linear)->Apply(sizes);

}  // namespace
}  // namespace heed::bench
