#include <benchmark/benchmark.h>

#include "bench/inputs.h"

// One decoder step of RNNsearch: the GRU cell and the additive score over the source.
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
  state.SetItemsProcessed(state.iterations() * batch);
}

void additive_score(benchmark::State& state) {
  const int64_t batch = state.range(0), width = state.range(1), length = state.range(2);
  const Tensor query = random({batch, width}), keys = random({batch, length, width});
  const Tensor weight = random({width}), scores = random({batch, length});
  for (auto _ : state) {
    cpu().additive_score(query, keys, weight, scores);
  }
  state.SetItemsProcessed(state.iterations() * batch * length);
}

BENCHMARK(gru_cell)->ArgNames({"batch", "width"})->Args({64, 256})->UseRealTime();
BENCHMARK(additive_score)
    ->ArgNames({"batch", "width", "length"})
    ->Args({64, 256, 16})
    ->Args({64, 256, 64})
    ->UseRealTime();

}  // namespace
}  // namespace heed::bench
