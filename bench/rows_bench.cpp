#include <benchmark/benchmark.h>

#include "bench/inputs.h"

// Kernels bound by memory: GB/s counts what has to be read and written once.
namespace heed::bench {
namespace {

void count_bytes(benchmark::State& state, int64_t floats) {
  state.counters["GB/s"] = benchmark::Counter(4e-9 * static_cast<double>(floats),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void copy(benchmark::State& state) {
  const Tensor x = random({state.range(0), state.range(1)}), y = random(x.shape());
  for (auto _ : state) {
    cpu().copy(x, y);
  }
  count_bytes(state, 2 * x.numel());
}

void softmax(benchmark::State& state) {
  const Tensor x = random({state.range(0), state.range(1)}), y = random(x.shape());
  for (auto _ : state) {
    cpu().softmax(x, Tensor(), y);
  }
  count_bytes(state, 2 * x.numel());
}

void layer_norm(benchmark::State& state) {
  const int64_t rows = state.range(0), width = state.range(1);
  const Tensor x = random({rows, width}), y = random(x.shape());
  const Tensor weight = random({width}), bias = random({width});
  const Tensor mean = random({rows}), rstd = random({rows});
  for (auto _ : state) {
    cpu().layer_norm(x, weight, bias, 1e-5, y, mean, rstd);
  }
  count_bytes(state, 2 * x.numel());
}

template <kernels::UnaryOp op>
void unary(benchmark::State& state) {
  const Tensor x = random({state.range(0), state.range(1)}), y = random(x.shape());
  for (auto _ : state) {
    cpu().unary(op, x, y);
  }
  count_bytes(state, 2 * x.numel());
}

void cross_entropy(benchmark::State& state) {
  const int64_t rows = state.range(0), vocabulary = state.range(1);
  const Tensor logits = random({rows, vocabulary});
  const Tensor targets = Tensor::zeros({rows}, DType::i32);
  const Tensor loss = random({rows}), nll = random({rows});
  const Tensor largest = random({rows}), sum = random({rows});
  for (auto _ : state) {
    cpu().cross_entropy(logits, targets, 0.1, -1, loss, nll, largest, sum);
  }
  count_bytes(state, logits.numel());
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "width"})->UseRealTime();
  benchmark->Args({1024, 256});
  benchmark->Args({1024, 4096});
}

BENCHMARK(copy)->Apply(sizes);
BENCHMARK(softmax)->Apply(sizes);
BENCHMARK(layer_norm)->Apply(sizes);
BENCHMARK(cross_entropy)->Apply(sizes);
BENCHMARK(unary<kernels::UnaryOp::tanh>)->Name("tanh")->Apply(sizes);
BENCHMARK(unary<kernels::UnaryOp::exponential>)->Name("exponential")->Apply(sizes);
BENCHMARK(unary<kernels::UnaryOp::gelu>)->Name("gelu")->Apply(sizes);

}  // namespace
}  // namespace heed::bench
