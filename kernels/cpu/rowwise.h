#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/threads.h"

namespace heed::kernels {

// Rows are handed to the threads in parts worth waking them for.
template <typename F>
void for_each_row(int64_t rows, int64_t width, F&& f) {
  constexpr int64_t elements_a_part = 1 << 12;
  parallel_for(rows, std::max<int64_t>(1, elements_a_part / std::max<int64_t>(1, width)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   f(row);
                 }
               });
}

// Sums over rows (the gradient of a weight that every row shares): f(begin, end, sums) adds rows
// begin .. end - 1 to `width` zeroed sums. Blocks are fixed, not the threads' parts, and are added
// up in order, so that the result does not depend on the thread count.
template <typename T, typename F>
void sum_over_rows(int64_t rows, int64_t width, T* result, F&& f) {
  constexpr int64_t most_blocks = 16;
  const int64_t block = std::max<int64_t>(1, (rows + most_blocks - 1) / most_blocks);
  const int64_t blocks = (rows + block - 1) / block;
  std::vector<T> partial(static_cast<size_t>(blocks * width), T{0});
  parallel_for(blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      f(b * block, std::min(rows, (b + 1) * block), partial.data() + b * width);
    }
  });
  std::fill_n(result, width, T{0});
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t i = 0; i < width; ++i) {
      result[i] += partial[static_cast<size_t>(b * width + i)];
    }
  }
}

}  // namespace heed::kernels
