#include <benchmark/benchmark.h>

#include <vector>

#include "bench/inputs.h"

// Kernels bound by memory: GB/s counts what has to be read and written once.
namespace heed::bench {
namespace {

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

void dropout(benchmark::State& state) {
  const Tensor x = random({state.range(0), state.range(1)}), y = random(x.shape());
  const RandomState numbers{.seed = 1};
  for (auto _ : state) {
    cpu().dropout(x, 0.1, numbers, y);
  }
  count_bytes(state, 2 * x.numel());
}

// The sum over the rows, as for the gradient of a bias.
void sum_of_rows(benchmark::State& state) {
  const Tensor x = random({state.range(0), state.range(1)}), y = random({1, state.range(1)});
  for (auto _ : state) {
    cpu().reduce(kernels::ReduceOp::sum, x, y);
  }
  count_bytes(state, x.numel());
}

// The gradient of a table of 8000 words; every row added to is read and written.
void embedding_backward(benchmark::State& state) {
  constexpr int64_t vocabulary = 8000;
  const int64_t rows = state.range(0), width = state.range(1);
  const Tensor dy = random({rows, width}), dtable = random({vocabulary, width});
  std::vector<int32_t> words(static_cast<size_t>(rows));
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<int32_t>(i * 7919 % vocabulary);
  }
  const Tensor ids = Tensor::from_vector(words, {rows});
  for (auto _ : state) {
    cpu().scatter_add_rows(dy, ids, 0, dtable);
  }
  count_bytes(state, 3 * dy.numel());
}

// Adam over the parameters of a model: rows and widths of eight matrices.
void adam_step(benchmark::State& state) {
  std::vector<kernels::Updated> parameters;
  for (int i = 0; i < 8; ++i) {
    const Shape shape = {state.range(0), state.range(1)};
    parameters.push_back(
        {random(shape), random(shape), Tensor::zeros(shape), Tensor::zeros(shape)});
  }
  const Tensor scale = Tensor::full({}, 1, DType::f64);
  kernels::AdamStep step{1e-9, 0.9, 0.999, 1e-8, 0.01, true, 1};
  for (auto _ : state) {
    cpu().adam_step(step, scale, parameters);
    ++step.step;
  }
  // The gradient is read; the parameter and both averages are read and written.
  count_bytes(state, 8 * 7 * parameters.front().p.numel());
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
BENCHMARK(dropout)->Apply(sizes);
BENCHMARK(sum_of_rows)->Apply(sizes);
BENCHMARK(embedding_backward)->Apply(sizes);
BENCHMARK(adam_step)->Apply(sizes);
BENCHMARK(unary<kernels::UnaryOp::tanh>)->Name("tanh")->Apply(sizes);
BENCHMARK(unary<kernels::UnaryOp::exponential>)->Name("exponential")->Apply(sizes);
BENCHMARK(unary<kernels::UnaryOp::gelu>)->Name("gelu")->Apply(sizes);

}  // namespace
}  // namespace heed::bench
