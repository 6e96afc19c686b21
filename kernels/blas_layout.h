#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/tensor.h"
#include "kernels/backend.h"

// What every BLAS, on any device, asks of matrices: the last two dimensions of a tensor.
namespace heed::kernels {

// Sizes and leading dimensions as BLAS takes them, with 32 bits as a rule.
template <typename Int>
Int blas_int(int64_t size) {
  constexpr auto most = std::numeric_limits<Int>::max();
  HEED_CHECK(size <= most, "matmul",
             "a matrix is too large for BLAS: it has a size or a row stride of {}, {} is the most",
             size, most);
  return static_cast<Int>(size);
}

// Row-major, or the transpose of a row-major matrix.
struct BlasLayout {
  bool transposed;
  int64_t leading;  // elements from one (stored) row to the next
};

// Nothing when BLAS cannot read x in place (neither stride is 1). No size is 0.
inline std::optional<BlasLayout> blas_layout(const Tensor& x) {
  const int64_t rows = x.dim(-2);
  const int64_t columns = x.dim(-1);
  const int64_t row_stride = x.strides().dim(-2);
  const int64_t column_stride = x.strides().dim(-1);
  // A stride along a dimension of size 1 says nothing.
  if ((column_stride == 1 || columns == 1) && (rows == 1 || row_stride >= columns)) {
    return BlasLayout{false, rows == 1 ? columns : row_stride};
  }
  if ((row_stride == 1 || rows == 1) && (columns == 1 || column_stride >= rows)) {
    return BlasLayout{true, columns == 1 ? rows : column_stride};
  }
  return std::nullopt;
}

// x itself, or a copy of it that BLAS can read.
inline Tensor blas_readable(Backend& backend, const Tensor& x) {
  if (blas_layout(x)) {
    return x;
  }
  const Tensor copy = Tensor::empty(x.shape(), x.dtype(), x.device());
  backend.copy(x, copy);
  return copy;
}

// The first element of every matrix of a batch.
inline Tensor first_elements(const Tensor& x) {
  Shape shape = x.shape();
  Shape strides = x.strides();
  for (int i = 0; i < 2; ++i) {
    shape.erase(shape.rank() - 1);
    strides.erase(strides.rank() - 1);
  }
  return x.as_strided(shape, strides, x.offset());
}

}  // namespace heed::kernels
