#include <benchmark/benchmark.h>

#include <numeric>

#include "data/batches.h"
#include "data/windows.h"

// What a training step waits for: its batch, with the ids in memory (0) or in a file (1).
namespace heed::bench {
namespace {

constexpr int64_t vocabulary = 8000;

size_t memory(const benchmark::State& state) {
  return state.range(0) == 0 ? ScratchFile::default_memory : 0;
}

// 64 of 20,000 pairs of 16 words.
void pair_batch(benchmark::State& state) {
  constexpr size_t count = 20000, rows = 64;
  std::vector<int32_t> words(16);
  std::iota(words.begin(), words.end(), 5);
  data::PairStore pairs("pairs", vocabulary, count, memory(state));
  for (size_t i = 0; i < count; ++i) {
    pairs.append({words, words});
  }
  Generator generator(1, 2);
  const data::BatchPlan plan = data::plan_epoch(pairs, {rows, 0, 100}, generator);
  size_t batch = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(data::make_batch(pairs, plan[batch++ % plan.size()]));
  }
}

// 12 windows of 64 ids.
void window_batch(benchmark::State& state) {
  constexpr int64_t count = 1000000, rows = 12, width = 64;
  std::vector<int32_t> text(count);
  std::iota(text.begin(), text.end(), 0);
  data::IdStore ids("text", count, memory(state));
  ids.append(text);
  Generator generator(1, 2);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        data::make_window_batch(ids, data::random_windows(rows, count, width, generator), width));
  }
}

BENCHMARK(pair_batch)->Arg(0)->Arg(1);
BENCHMARK(window_batch)->Arg(0)->Arg(1);

}  // namespace
}  // namespace heed::bench
