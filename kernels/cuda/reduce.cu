#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/cuda/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elements.h"
#include "kernels/cuda/reduction.h"

namespace heed::kernels {
namespace cuda {

// A reduction in two steps: the reduced elements of each output are cut into `parts`, so that few
// outputs of many elements occupy the card too. Sums are added up in f64 whatever the dtype.
struct Split {
  Elements<1> kept;     // of x, an element an output
  Elements<1> reduced;  // of x, those that fall together
  Elements<1> outputs;  // of y
  int64_t parts = 1;

  // Elements of a part.
  __host__ __device__ int64_t length() const { return (reduced.count + parts - 1) / parts; }
};

// Of x without its dimensions d for which drop(d).
template <typename F>
Elements<1> elements_without(const Tensor& x, F drop) {
  Shape shape;
  Shape strides;
  for (int d = 0; d < x.rank(); ++d) {
    if (!drop(d)) {
      shape.push_back(x.shape()[d]);
      strides.push_back(x.strides()[d]);
    }
  }
  return Elements<1>(Loop<1>(shape, {strides}));
}

Split split_of(const Tensor& x, const Tensor& y) {
  const auto reduced = [&](int d) { return y.shape()[d] == 1 && x.shape()[d] != 1; };
  Split split;
  split.kept = elements_without(x, reduced);
  split.reduced = elements_without(x, [&](int d) { return !reduced(d); });
  split.outputs = elements_without(y, reduced);
  constexpr int64_t enough_threads = 1 << 16;
  constexpr int64_t least_length = 256;
  const int64_t wanted = enough_threads / std::max<int64_t>(1, split.outputs.count);
  split.parts =
      std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, split.reduced.count / least_length));
  return split;
}

template <typename T>
__device__ double value_at(const Split& split, const T* x, int64_t output, int64_t i) {
  int64_t from[1];
  int64_t at[1];
  split.kept.offsets(output, from);
  split.reduced.offsets(i, at);
  return static_cast<double>(x[from[0] + at[0]]);
}

// Where the value of a part goes: to y, or, where an output has several parts, aside until all are
// known.
template <typename T>
struct Results {
  T* y;
  double* aside;

  __device__ void put(const Split& split, int64_t unit, double value) const {
    if (aside != nullptr) {
      aside[unit] = value;
      return;
    }
    int64_t at[1];
    split.outputs.offsets(unit, at);
    y[at[0]] = static_cast<T>(value);
  }
};

// A thread a part: neighbouring threads read neighbouring outputs.
template <typename T, typename Op>
__global__ void reduce_by_threads(Split split, const T* x, double start, Op op,
                                  Results<T> results) {
  each_item(split.outputs.count * split.parts, [&](int64_t unit) {
    const int64_t output = unit % split.outputs.count;
    const int64_t begin = unit / split.outputs.count * split.length();
    double value = start;
    for (int64_t i = begin; i < begin + split.length() && i < split.reduced.count; ++i) {
      value = op(value, value_at(split, x, output, i));
    }
    results.put(split, unit, value);
  });
}

// A block a part: its threads read neighbouring elements of one output.
template <typename T, typename Op>
__global__ void reduce_by_blocks(Split split, const T* x, double start, Op op, Results<T> results) {
  const int64_t units = split.outputs.count * split.parts;
  for (int64_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const int64_t output = unit % split.outputs.count;
    const int64_t begin = unit / split.outputs.count * split.length();
    const int64_t rest = split.reduced.count - begin;
    const double value =
        reduce_items(rest < split.length() ? rest : split.length(), start, op,
                     [&](int64_t i) { return value_at(split, x, output, begin + i); });
    if (threadIdx.x == 0) {
      results.put(split, unit, value);
    }
  }
}

template <typename T, typename Op>
__global__ void combine_parts(Split split, Op op, Results<T> results) {
  each_item(split.outputs.count, [&](int64_t output) {
    double value = results.aside[output];
    for (int64_t part = 1; part < split.parts; ++part) {
      value = op(value, results.aside[part * split.outputs.count + output]);
    }
    Results<T>{results.y, nullptr}.put(split, output, value);
  });
}

template <typename T, typename Op>
void reduce_for(const Tensor& x, const Tensor& y, double start, Op op) {
  if (y.numel() == 0) {
    return;
  }
  const Split split = split_of(x, y);
  const int64_t units = split.outputs.count * split.parts;
  std::optional<Scratch<double>> aside;
  if (split.parts > 1) {
    aside.emplace(units);
  }
  const Results<T> results{y.data<T>(), aside ? aside->data() : nullptr};
  const Elements<1>& reduced = split.reduced;
  if (reduced.rank > 0 && reduced.strides[0][reduced.rank - 1] == 1) {
    LaunchConfig config = block_a_row(std::min<int64_t>(units, 1 << 20), split.length());
    launch(reduce_by_blocks<T, Op>, config, split, x.data<T>(), start, op, results);
  } else {
    launch(reduce_by_threads<T, Op>, spread(units), split, x.data<T>(), start, op, results);
  }
  if (aside) {
    launch(combine_parts<T, Op>, spread(split.outputs.count), split, op, results);
  }
}

// --- the largest of a row ---------------------------------------------------------------------

// The largest value of a row, NaN before any number, and the first place it stands at; `allowed`
// leaves entries out.
template <typename T>
struct Best {
  T value;
  int64_t index;
};
template <typename T, typename F>
__device__ Best<T> best_of(const T* row, int64_t width, F allowed) {
  const T value = reduce_items(width, lowest<T>(), Larger(),
                               [&](int64_t i) { return allowed(i) ? row[i] : lowest<T>(); });
  const int64_t index = reduce_items(width, width, Smaller(), [&](int64_t i) {
    return allowed(i) && (row[i] == value || (std::isnan(row[i]) && std::isnan(value))) ? i : width;
  });
  return {value, index};
}

template <typename T>
__global__ void arg_max_kernel(int64_t width, const T* x, int32_t* y) {
  const Best<T> best =
      best_of(x + int64_t{blockIdx.x} * width, width, [](int64_t) { return true; });
  if (threadIdx.x == 0) {
    y[blockIdx.x] = static_cast<int32_t>(best.index);
  }
}

template <typename T>
__global__ void top_k_kernel(int64_t width, int64_t k, const T* x, T* values, int32_t* indices) {
  const T* row = x + int64_t{blockIdx.x} * width;
  Best<T> last{};
  for (int64_t n = 0; n < k; ++n) {
    // What comes after the one before: smaller, or the same and further on.
    last = best_of(row, width, [&](int64_t i) {
      if (n == 0 || std::isnan(last.value)) {
        return n == 0 || !std::isnan(row[i]) || i > last.index;
      }
      return row[i] < last.value || (row[i] == last.value && i > last.index);
    });
    if (threadIdx.x == 0) {
      values[blockIdx.x * k + n] = row[last.index];
      indices[blockIdx.x * k + n] = static_cast<int32_t>(last.index);
    }
  }
}

// --- of everything ------------------------------------------------------------------------------

// Many arrays in one launch: its arguments have room for 4 KiB.
template <typename T>
struct Arrays {
  struct One {
    const T* x;
    int64_t count;
  };
  static constexpr int64_t most = 128;
  One ones[most];
};
static_assert(sizeof(Arrays<float>) <= 4000);

// Blocks (x, y) take array y; a sum a block.
template <typename T>
__global__ void sum_of_squares_kernel(Arrays<T> arrays, double* sums) {
  const typename Arrays<T>::One& one = arrays.ones[blockIdx.y];
  double sum = 0;
  each_item(one.count, [&](int64_t i) {
    const auto value = static_cast<double>(one.x[i]);
    sum += value * value;
  });
  sum = reduce_block(sum, Plus());
  if (threadIdx.x == 0) {
    sums[int64_t{blockIdx.y} * gridDim.x + blockIdx.x] = sum;
  }
}

// A block a row of x.
__global__ void sum_kernel(int64_t width, const double* x, double* y) {
  const double* row = x + blockIdx.x * width;
  const double sum = reduce_items(width, 0.0, Plus(), [&](int64_t i) { return row[i]; });
  if (threadIdx.x == 0) {
    y[blockIdx.x] = sum;
  }
}

template <typename T>
void sums_of_squares_for(std::span<const Tensor> xs, const Tensor& y) {
  constexpr int64_t elements_a_block = 1 << 13;
  int64_t largest = 1;
  for (const Tensor& x : xs) {
    largest = std::max(largest, x.numel());
  }
  const int64_t blocks = std::min<int64_t>(divide_up(largest, elements_a_block), 256);
  const auto arrays = static_cast<int64_t>(xs.size());
  const Scratch<double> sums(std::max<int64_t>(1, arrays * blocks));
  for (int64_t begin = 0; begin < arrays; begin += Arrays<T>::most) {
    const int64_t count = std::min(Arrays<T>::most, arrays - begin);
    Arrays<T> launched{};
    for (int64_t i = 0; i < count; ++i) {
      const Tensor& x = xs[static_cast<size_t>(begin + i)];
      launched.ones[i] = {x.data<T>(), x.numel()};
    }
    launch(sum_of_squares_kernel<T>,
           {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(count)),
            dim3(block_size(largest))},
           launched, sums.data() + begin * blocks);
  }
  launch(sum_kernel, block_a_row(arrays, blocks), blocks, sums.data(), y.data<double>());
}

template <typename T>
void all_finite_for(const Tensor& x, const Tensor& y) {
  const T* px = x.data<T>();
  bool* finite = y.data<bool>();
  // Whoever finds one writes the same.
  for_each_element<1>({&x}, [=] __device__(int64_t, const int64_t* at) {
    const T value = px[at[0]];
    if (value - value != 0) {
      *finite = false;
    }
  });
}

}  // namespace cuda

void CudaBackend::reduce(ReduceOp op, const Tensor& x, const Tensor& y) {
  dispatch_floating("reduce", x.dtype(), [&]<typename T>(T) {
    if (op == ReduceOp::sum) {
      cuda::reduce_for<T>(x, y, 0, cuda::Plus());
    } else {
      cuda::reduce_for<T>(x, y, -std::numeric_limits<double>::infinity(), cuda::Larger());
    }
  });
}

void CudaBackend::sum_rows(const Tensor& x, const Tensor& y) {
  const int64_t width = y.dim(0);
  reduce(ReduceOp::sum, x, y.as_strided({1, width}, {width, 1}, y.offset()));
}

void CudaBackend::arg_max(const Tensor& x, const Tensor& y) {
  dispatch_floating("arg_max", x.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::arg_max_kernel<T>, cuda::block_a_row(x.dim(0), x.dim(1)), x.dim(1),
                 x.data<T>(), y.data<int32_t>());
  });
}

void CudaBackend::top_k(const Tensor& x, const Tensor& values, const Tensor& indices) {
  dispatch_floating("top_k", x.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::top_k_kernel<T>, cuda::block_a_row(x.dim(0), x.dim(1)), x.dim(1),
                 values.dim(1), x.data<T>(), values.data<T>(), indices.data<int32_t>());
  });
}

void CudaBackend::sums_of_squares(std::span<const Tensor> xs, const Tensor& y) {
  dispatch_floating("sums_of_squares", xs.empty() ? DType::f32 : xs.front().dtype(),
                    [&]<typename T>(T) { cuda::sums_of_squares_for<T>(xs, y); });
}

void CudaBackend::all_finite(const Tensor& x, const Tensor& y) {
  fill(y, 1);
  dispatch_floating("all_finite", x.dtype(), [&]<typename T>(T) { cuda::all_finite_for<T>(x, y); });
}

}  // namespace heed::kernels
