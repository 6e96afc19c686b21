#include <benchmark/benchmark.h>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "bench/inputs.h"

// One decoder step of RNNsearch (the GRU cell and the additive score over the source), and
// attention forward and backward, fused and composed.
namespace heed::bench {
namespace {

void gru_cell(benchmark::State& state) {
  const int64_t batch = state.range(0), width = state.range(1);
  const Tensor gates_x = random({batch, 3 * width}), gates_h = random({batch, 3 * width});
  const Tensor h = random({batch, width}), y = random({batch, width});
  const Tensor gates = random({batch, 3 * width});
  const Tensor mask = Tensor::full({batch}, 1, DType::boolean);
  for (auto _ : state) {
    cpu().gru_cell(gates_x, gates_h, h, mask, y, gates);
  }
  // gates_x, gates_h and h are read, y and the gates written.
  count_bytes(state, (3 + 3 + 1 + 1 + 3) * h.numel());
}

void additive_score(benchmark::State& state) {
  const int64_t batch = state.range(0), width = state.range(1), length = state.range(2);
  const Tensor query = random({batch, width}), keys = random({batch, length, width});
  const Tensor weight = random({width}), scores = random({batch, length});
  for (auto _ : state) {
    cpu().additive_score(query, keys, weight, scores);
  }
  // A sum, tanh counted as one, a product and a sum for every key.
  count_flops(state, 4 * static_cast<double>(keys.numel()));
}

// From a projection (B, T, 3, H, D) to merged heads (B, T, H D), and back.
void attention(benchmark::State& state, bool fused, bool causal) {
  const int64_t batch = state.range(0), heads = state.range(1), length = state.range(2);
  constexpr int64_t width = 64;
  const Tensor projection = random({batch, length, 3, heads, width});
  set_requires_grad(projection);
  const Tensor cotangent = random({batch, length, heads * width});
  AttentionOptions options;
  options.causal = causal;
  kernels::set_fused_kernels(fused);
  for (auto _ : state) {
    std::vector<Tensor> parts = unstack(projection, 2);
    for (Tensor& part : parts) {
      part = transpose(part, 1, 2);
    }
    const Tensor y = scaled_dot_product_attention(parts[0], parts[1], parts[2], options);
    backward(reshape(transpose(y, 1, 2), {batch, length, heads * width}), cotangent);
    clear_gradient(projection);
  }
  kernels::set_fused_kernels(true);
  // Two products forward and five backward, half of each under the diagonal.
  const auto scores = static_cast<double>(batch * heads * length * length);
  count_flops(state, 14 * static_cast<double>(width) * scores * (causal ? 0.5 : 1));
}

void attention_sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"batch", "heads", "length"})->UseRealTime()->Unit(benchmark::kMillisecond);
  benchmark->Args({8, 4, 64})->Args({8, 4, 256})->Args({2, 4, 1024})->Args({1, 8, 4096});
}

BENCHMARK_CAPTURE(attention, fused, true, false)->Apply(attention_sizes);
BENCHMARK_CAPTURE(attention, composed, false, false)->Apply(attention_sizes);
BENCHMARK_CAPTURE(attention, fused_causal, true, true)->Apply(attention_sizes);
BENCHMARK_CAPTURE(attention, composed_causal, false, true)->Apply(attention_sizes);
BENCHMARK(gru_cell)->ArgNames({"batch", "width"})->Args({64, 256})->UseRealTime();
BENCHMARK(additive_score)
    ->ArgNames({"batch", "width", "length"})
    ->Args({64, 256, 16})
    ->Args({64, 256, 64})
    ->UseRealTime();

}  // namespace
}  // namespace heed::bench
