#include "nn/init.h"

#include <cmath>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/memory.h"

namespace heed::nn {
namespace {

thread_local bool skipping = false;

void assign(const Tensor& tensor, const std::vector<double>& values) {
  HEED_ASSERT(tensor.is_contiguous(), "{}", tensor.shape().to_string());
  dispatch_floating("init", tensor.dtype(), [&]<typename T>(T) {
    const std::vector<T> converted(values.begin(), values.end());
    device_memory(tensor.device())
        .copy_from_host(tensor.raw_data(), converted.data(), converted.size() * sizeof(T));
  });
  tensor.bump_version();
}

template <typename F>
void draw(const Tensor& tensor, F next) {
  if (skipping) {
    return;
  }
  std::vector<double> values(static_cast<size_t>(tensor.numel()));
  for (double& value : values) {
    value = next();
  }
  assign(tensor, values);
}

void check_matrix(const char* name, const Tensor& matrix) {
  HEED_CHECK(matrix.rank() == 2, name, "a matrix is expected, not {}", matrix.shape().to_string());
}

// Modified Gram-Schmidt on `count` vectors of `length`, vector i at data + i * length.
void orthonormalise(double* data, int64_t count, int64_t length) {
  const auto dot = [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < length; ++k) {
      sum += data[i * length + k] * data[j * length + k];
    }
    return sum;
  };
  for (int64_t i = 0; i < count; ++i) {
    // Twice is enough to be orthogonal to rounding.
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t j = 0; j < i; ++j) {
        const double along = dot(i, j);
        for (int64_t k = 0; k < length; ++k) {
          data[i * length + k] -= along * data[j * length + k];
        }
      }
    }
    const double norm = std::sqrt(dot(i, i));
    for (int64_t k = 0; k < length; ++k) {
      data[i * length + k] /= norm;
    }
  }
}

}  // namespace

SkipInitialization::SkipInitialization() : before_(std::exchange(skipping, true)) {}
SkipInitialization::~SkipInitialization() { skipping = before_; }

void init_constant(const Tensor& tensor, double value) {
  draw(tensor, [value] { return value; });
}

void init_uniform(const Tensor& tensor, double low, double high, Generator& generator) {
  draw(tensor, [&] { return low + (high - low) * generator.uniform(); });
}

void init_normal(const Tensor& tensor, double deviation, Generator& generator) {
  draw(tensor, [&] { return deviation * generator.normal(); });
}

void init_xavier(const Tensor& matrix, Generator& generator, double gain) {
  check_matrix("init_xavier", matrix);
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(matrix.dim(0) + matrix.dim(1)));
  init_uniform(matrix, -bound, bound, generator);
}

void init_orthogonal(const Tensor& matrix, Generator& generator) {
  check_matrix("init_orthogonal", matrix);
  if (skipping) {
    return;
  }
  const int64_t rows = matrix.dim(0);
  const int64_t columns = matrix.dim(1);
  std::vector<double> values(static_cast<size_t>(rows * columns));
  for (double& value : values) {
    value = generator.normal();
  }
  for (int64_t begin = 0; begin < rows; begin += columns) {
    orthonormalise(values.data() + begin * columns, std::min(columns, rows - begin), columns);
  }
  assign(matrix, values);
}

}  // namespace heed::nn
