#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/random.h"
#include "core/tensor.h"
#include "core/threads.h"
#include "kernels/backend.h"

// Tensors to call kernels with, and a comparison with what plain loops in double give.
namespace heed::kernels::test {

// The default device's: the CPU's, or, in a build with an emulated device, that one's.
inline Backend& tested() { return backend(default_device()); }

inline Tensor from_doubles(const std::vector<double>& values, const Shape& shape, DType dtype) {
  return dispatch_all(dtype, [&]<typename T>(T) {
    std::vector<T> converted(values.size());
    std::transform(values.begin(), values.end(), converted.begin(),
                   [](double value) { return static_cast<T>(value); });
    return Tensor::from_vector(converted, shape);
  });
}

// Uniform in [low, high); each stream gives other numbers, the same in every run.
inline Tensor random_tensor(const Shape& shape, DType dtype, uint64_t stream, double low = -2,
                            double high = 2) {
  Generator generator(17, stream);
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (double& value : values) {
    value = low + (high - low) * generator.uniform();
  }
  return from_doubles(values, shape, dtype);
}

// Outputs start as NaN, so that an element left out, or read, shows.
inline Tensor unset(const Shape& shape, DType dtype) {
  return Tensor::full(shape, is_floating(dtype) ? NAN : 0, dtype);
}

// dense: row-major. turned: the first dimension varies fastest. spaced: every second element.
enum class Layout { dense, turned, spaced };
inline constexpr Layout layouts[] = {Layout::dense, Layout::turned, Layout::spaced};

// The numbers of a dense tensor in another layout, past a few elements of offset.
inline Tensor laid_out(const Tensor& x, Layout layout) {
  if (layout == Layout::dense || x.numel() == 0) {
    return x;
  }
  constexpr int64_t offset = 3;
  Shape strides = x.shape();
  int64_t step = layout == Layout::spaced ? 2 : 1;
  for (int i = 0; i < x.rank(); ++i) {
    const int d = layout == Layout::turned ? i : x.rank() - 1 - i;
    strides[d] = step;
    step *= x.shape()[d];
  }
  return dispatch_all(x.dtype(), [&]<typename T>(T) {
    const std::vector<T> values = x.to_vector<T>();
    std::vector<T> memory = unset({step + offset}, x.dtype()).to_vector<T>();
    size_t next = 0;
    for_each_offset(x.shape(), strides,
                    [&](int64_t at) { memory[static_cast<size_t>(offset + at)] = values[next++]; });
    const Shape whole = {step + offset};
    return Tensor::from_vector(memory, whole).as_strided(x.shape(), strides, offset);
  });
}

inline bool close(double actual, double expected, double tolerance) {
  if (std::isnan(expected) || std::isinf(expected)) {
    return std::isnan(expected) ? std::isnan(actual) : actual == expected;
  }
  return std::abs(actual - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

// A few rounding errors of the dtype.
inline double tolerance_of(DType dtype) { return dtype == DType::f32 ? 1e-6 : 1e-14; }

// Relative to 1 or the expected number, whichever is larger. Other than expect_close() of
// tests/support, it takes NaN where NaN is expected, and nothing where nothing is.
inline void expect_same_numbers(const Tensor& actual, const std::vector<double>& expected,
                                double tolerance) {
  const std::vector<double> values = actual.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(close(values[i], expected[i], tolerance))
        << "element " << i << " of " << actual.shape().to_string() << " is " << values[i]
        << ", not " << expected[i];
  }
}

// inf where it belongs is no error; NaN that is not, and another count of numbers, are infinite
// ones.
inline double largest_error(const std::vector<double>& actual, const std::vector<double>& exact) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (actual.size() != exact.size()) {
    return infinity;
  }
  double largest = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double error = actual[i] == exact[i] ? 0 : std::abs(actual[i] - exact[i]);
    largest = std::isnan(error) ? infinity : std::max(largest, error);
  }
  return largest;
}

// The same bits whatever the number of threads.
inline void expect_same_for_any_threads(const std::function<Tensor()>& compute) {
  set_thread_count(1);
  const std::vector<double> expected = compute().to_doubles();
  for (const int threads : {2, 3}) {
    set_thread_count(threads);
    EXPECT_EQ(compute().to_doubles(), expected) << threads << " threads";
  }
  set_thread_count(available_cores());
}

}  // namespace heed::kernels::test
