#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {
namespace {

// Sums are added up in f64 whatever the dtype; a maximum that meets NaN is NaN.
struct Sum {
  static double start() { return 0; }
  static double add(double a, double b) { return a + b; }
};
struct Maximum {
  static double start() { return -std::numeric_limits<double>::infinity(); }
  static double add(double a, double b) { return b > a || b != b ? b : a; }
};

// The dimensions of x in two groups: those y keeps, and those that fall together.
struct Split {
  Shape kept, kept_x, kept_y;
  Shape reduced, reduced_x;

  Split(const Tensor& x, const Tensor& y) {
    for (int d = 0; d < x.rank(); ++d) {
      if (y.shape()[d] == 1 && x.shape()[d] != 1) {
        reduced.push_back(x.shape()[d]);
        reduced_x.push_back(x.strides()[d]);
      } else {
        HEED_ASSERT(y.shape()[d] == x.shape()[d], "{} to {}", x.shape().to_string(),
                    y.shape().to_string());
        kept.push_back(x.shape()[d]);
        kept_x.push_back(x.strides()[d]);
        kept_y.push_back(y.strides()[d]);
      }
    }
  }
};

std::vector<int64_t> offsets_of(const Shape& shape, const Shape& strides) {
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(shape.numel()));
  for_each_offset(shape, strides, [&](int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

template <typename T, typename Op>
double reduce_line(const T* x, int64_t n, int64_t stride) {
  double lanes[4] = {Op::start(), Op::start(), Op::start(), Op::start()};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int64_t lane = 0; lane < 4; ++lane) {
      lanes[lane] = Op::add(lanes[lane], static_cast<double>(x[(i + lane) * stride]));
    }
  }
  for (; i < n; ++i) {
    lanes[0] = Op::add(lanes[0], static_cast<double>(x[i * stride]));
  }
  return Op::add(Op::add(lanes[0], lanes[1]), Op::add(lanes[2], lanes[3]));
}

// Columns: the last dimension is kept and dense, so whole rows are added to a row of sums.
template <typename T, typename Op>
void reduce_columns(const T* x, T* y, const Split& split) {
  const int64_t width = split.kept.dim(-1);
  Shape outer = split.kept, outer_x = split.kept_x, outer_y = split.kept_y;
  outer.erase(outer.rank() - 1);
  outer_x.erase(outer_x.rank() - 1);
  outer_y.erase(outer_y.rank() - 1);
  const auto from = offsets_of(outer, outer_x);
  const auto to = offsets_of(outer, outer_y);
  const auto rows = offsets_of(split.reduced, split.reduced_x);
  const int64_t y_step = split.kept_y.dim(-1);
  const auto lines = static_cast<int64_t>(from.size());
  const int64_t work = static_cast<int64_t>(rows.size()) * lines;
  const int64_t grain = std::max<int64_t>(16, elementwise_grain / std::max<int64_t>(work, 1));
  parallel_for(width, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(end - begin));
    for (size_t line = 0; line < from.size(); ++line) {
      std::fill(sums.begin(), sums.end(), Op::start());
      for (const int64_t row : rows) {
        const T* values = x + from[line] + row + begin;
        for (size_t i = 0; i < sums.size(); ++i) {
          sums[i] = Op::add(sums[i], static_cast<double>(values[i]));
        }
      }
      for (size_t i = 0; i < sums.size(); ++i) {
        y[to[line] + (begin + static_cast<int64_t>(i)) * y_step] = static_cast<T>(sums[i]);
      }
    }
  });
}

// All of x: fixed blocks in parallel, so that the result does not depend on the thread count. A
// block is part of a run of x, or several whole runs.
template <typename T, typename Op>
double reduce_all(const Tensor& x) {
  const Loop<1> loop({&x});
  const T* px = x.data<T>();
  const int64_t width = loop.inner();
  const int64_t stride = loop.inner_stride(0);
  const int64_t columns = std::min(width, elementwise_grain);
  const int64_t rows = elementwise_grain / columns;
  const int64_t across = (width + columns - 1) / columns;
  const int64_t blocks = (loop.outer() + rows - 1) / rows * across;
  std::vector<double> totals(static_cast<size_t>(blocks), Op::start());
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t top = block / across * rows;
      const int64_t left = block % across * columns;
      double& total = totals[static_cast<size_t>(block)];
      for (int64_t row = top; row < std::min(top + rows, loop.outer()); ++row) {
        const T* line = px + loop.offset(0, row) + left * stride;
        total = Op::add(total, reduce_line<T, Op>(line, std::min(columns, width - left), stride));
      }
    }
  });
  return std::accumulate(totals.begin(), totals.end(), Op::start(), Op::add);
}

template <typename T, typename Op>
void reduce_for(const Tensor& x, const Tensor& y) {
  const Split split(x, y);
  const T* px = x.data<T>();
  T* py = y.data<T>();
  if (y.numel() == 0) {
    return;
  }
  if (y.numel() == 1 && x.numel() > 0) {
    *py = static_cast<T>(reduce_all<T, Op>(x));
    return;
  }
  if (split.kept.rank() > 0 && split.kept_x.dim(-1) == 1 && split.reduced.numel() > 0) {
    reduce_columns<T, Op>(px, py, split);
    return;
  }
  // Lines along the last reduced dimension; the others give the lines' starts.
  Shape outer = split.reduced, outer_x = split.reduced_x;
  int64_t length = 1;
  int64_t stride = 1;
  if (outer.rank() > 0) {
    length = outer.dim(-1);
    stride = outer_x.dim(-1);
    outer.erase(outer.rank() - 1);
    outer_x.erase(outer_x.rank() - 1);
  }
  const Loop<1> lines(outer, {outer_x});
  const Loop<2> results(split.kept, {split.kept_y, split.kept_x});
  const auto place = [](const auto& loop, int operand, int64_t i) {
    return loop.offset(operand, i / loop.inner()) + i % loop.inner() * loop.inner_stride(operand);
  };
  const int64_t work = std::max<int64_t>(1, split.reduced.numel());
  parallel_for(
      y.numel(), std::max<int64_t>(1, elementwise_grain / work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* from = px + place(results, 1, i);
          double total = Op::start();
          for (int64_t line = 0; line < outer.numel(); ++line) {
            total =
                Op::add(total, reduce_line<T, Op>(from + place(lines, 0, line), length, stride));
          }
          py[place(results, 0, i)] = static_cast<T>(total);
        }
      });
}

}  // namespace

void CpuBackend::reduce(ReduceOp op, const Tensor& x, const Tensor& y) {
  dispatch_floating("reduce", x.dtype(), [&]<typename T>(T) {
    op == ReduceOp::sum ? reduce_for<T, Sum>(x, y) : reduce_for<T, Maximum>(x, y);
  });
}

namespace {

// Few of many values ever enter the list: the others are passed over in vectors.
template <typename T>
void top_k_of(const T* row, int64_t width, int64_t k, T* values, int32_t* indices) {
  const auto before = [row](int32_t a, int32_t b) {
    const bool nan_a = std::isnan(row[a]);
    const bool nan_b = std::isnan(row[b]);
    return nan_a != nan_b ? nan_a : row[a] > row[b] || (!(row[a] < row[b]) && a < b);
  };
  std::iota(indices, indices + k, 0);
  std::sort(indices, indices + k, before);
  for (int64_t i = k; k > 0 && !std::isnan(row[indices[k - 1]]); ++i) {
    i += vector_math::first_above(row + i, row[indices[k - 1]], width - i);
    if (i == width) {
      break;
    }
    int32_t* at = std::lower_bound(indices, indices + k, static_cast<int32_t>(i), before);
    std::copy_backward(at, indices + k - 1, indices + k);
    *at = static_cast<int32_t>(i);
  }
  std::transform(indices, indices + k, values, [row](int32_t index) { return row[index]; });
}

// Fixed blocks, so that the result does not depend on the thread count.
template <typename T>
double sum_of_squares_of(const T* x, int64_t count) {
  constexpr int64_t block = 1 << 14;
  const int64_t blocks = (count + block - 1) / block;
  std::vector<double> sums(static_cast<size_t>(blocks));
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      double lanes[8] = {};
      const int64_t last = std::min(count, (b + 1) * block);
      int64_t i = b * block;
      for (; i + 8 <= last; i += 8) {
        for (int64_t lane = 0; lane < 8; ++lane) {
          const auto value = static_cast<double>(x[i + lane]);
          lanes[lane] += value * value;
        }
      }
      for (; i < last; ++i) {
        lanes[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      }
      sums[static_cast<size_t>(b)] = std::accumulate(lanes, lanes + 8, 0.0);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

void CpuBackend::arg_max(const Tensor& x, const Tensor& y) {
  const int64_t width = x.dim(1);
  dispatch_floating("arg_max", x.dtype(), [&]<typename T>(T) {
    for_each_row(x.dim(0), width, [&](int64_t n) {
      T value;
      top_k_of(x.data<T>() + n * width, width, 1, &value, y.data<int32_t>() + n);
    });
  });
}

void CpuBackend::top_k(const Tensor& x, const Tensor& values, const Tensor& indices) {
  const int64_t width = x.dim(1);
  const int64_t k = values.dim(1);
  dispatch_floating("top_k", x.dtype(), [&]<typename T>(T) {
    for_each_row(x.dim(0), width, [&](int64_t n) {
      top_k_of(x.data<T>() + n * width, width, k, values.data<T>() + n * k,
               indices.data<int32_t>() + n * k);
    });
  });
}

void CpuBackend::sums_of_squares(std::span<const Tensor> xs, const Tensor& y) {
  double* sum = y.data<double>();
  for (const Tensor& x : xs) {
    dispatch_floating("sums_of_squares", x.dtype(),
                      [&]<typename T>(T) { *sum++ = sum_of_squares_of(x.data<T>(), x.numel()); });
  }
}

void CpuBackend::all_finite(const Tensor& x, const Tensor& y) {
  dispatch_floating("all_finite", x.dtype(), [&]<typename T>(T) {
    const T* px = x.data<T>();
    std::atomic<bool> finite{true};
    for_each_run<1>({&x}, [&](const auto& at, const auto& step, int64_t n) {
      // x - x is 0 for a finite x and NaN otherwise.
      T zeros = 0;
      for (int64_t i = 0; i < n; ++i) {
        const T value = px[at[0] + i * step[0]];
        zeros += value - value;
      }
      if (zeros != 0) {
        finite.store(false, std::memory_order_relaxed);
      }
    });
    *y.data<bool>() = finite.load();
  });
}

}  // namespace heed::kernels
