#pragma once

#include <benchmark/benchmark.h>

#include "core/tensor.h"
#include "kernels/backend.h"

namespace heed::bench {

// Uniform in [-1, 1), f32, the same on every run.
Tensor random(const Shape& shape);

// GB/s of what an iteration has to read and write once, of f32.
void count_bytes(benchmark::State& state, int64_t floats);
void count_flops(benchmark::State& state, double flops);

inline kernels::Backend& cpu() { return kernels::backend(Device{}); }

}  // namespace heed::bench
