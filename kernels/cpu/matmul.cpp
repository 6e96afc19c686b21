#include <cblas.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {
namespace {

// A matrix as BLAS reads it: row-major, or the transpose of a row-major one.
template <typename T>
struct Matrix {
  const T* data;
  CBLAS_TRANSPOSE transposed;
  int64_t leading;  // elements from one (stored) row to the next

  const T* row(int64_t i) const { return data + (transposed == CblasNoTrans ? i * leading : i); }
  const T* column(int64_t j) const { return data + (transposed == CblasNoTrans ? j : j * leading); }
};

// Sizes and leading dimensions as BLAS takes them, with 32 bits as a rule.
blasint blas_int(int64_t size) {
  constexpr auto most = std::numeric_limits<blasint>::max();
  HEED_CHECK(size <= most, "matmul",
             "a matrix is too large for BLAS: it has a size or a row stride of {}, {} is the most",
             size, most);
  return static_cast<blasint>(size);
}

// Before anything is copied or split.
void check_sizes(std::initializer_list<int64_t> sizes) {
  for (const int64_t size : sizes) {
    blas_int(size);
  }
}

// y = a b + beta y, row-major.
template <typename T>
void product(const Matrix<T>& a, const Matrix<T>& b, int64_t m, int64_t n, int64_t k, T beta, T* y,
             int64_t y_leading) {
  const auto gemm = [] {
    if constexpr (std::is_same_v<T, float>) {
      return cblas_sgemm;
    } else {
      return cblas_dgemm;
    }
  }();
  gemm(CblasRowMajor, a.transposed, b.transposed, blas_int(m), blas_int(n), blas_int(k), T{1},
       a.data, blas_int(a.leading), b.data, blas_int(b.leading), beta, y, blas_int(y_leading));
}

// Products with fewer multiplications than this run in place: waking the pool costs more.
constexpr int64_t least_work_a_part = 1 << 16;
// Parts are whole micro tiles of the BLAS kernels.
constexpr int64_t tile = 16;

// One product, its rows (or columns, when there are more of them) split over the threads.
// after(begin, end) is called for each finished range of rows while it is in cache; it wants whole
// rows, so giving one forces the split along them.
template <typename T, typename After>
void split_product(const Matrix<T>& a, const Matrix<T>& b, int64_t m, int64_t n, int64_t k, T beta,
                   T* y, int64_t y_leading, bool by_rows, After after) {
  const auto split = [k](int64_t size, int64_t other_size, const auto& run) {
    const int64_t tiles = (size + tile - 1) / tile;
    const int64_t work = std::max<int64_t>(1, tile * other_size * k);
    parallel_for(
        tiles, std::max<int64_t>(1, least_work_a_part / work),
        [&](int64_t first, int64_t last) { run(first * tile, std::min(size, last * tile)); });
  };
  if (by_rows || m >= n) {
    split(m, n, [&](int64_t begin, int64_t end) {
      product({a.row(begin), a.transposed, a.leading}, b, end - begin, n, k, beta,
              y + begin * y_leading, y_leading);
      after(begin, end);
    });
  } else {
    split(n, m, [&](int64_t begin, int64_t end) {
      product(a, {b.column(begin), b.transposed, b.leading}, m, end - begin, k, beta, y + begin,
              y_leading);
    });
  }
}

// The matrices of a batch. Those that BLAS cannot read in place (neither stride is 1) are copied.
template <typename T>
class Batch {
 public:
  Batch(const Tensor& x, CpuBackend& backend) : x_(x) {
    if (!readable(x_)) {
      x_ = Tensor::empty(x.shape(), x.dtype(), x.device());
      backend.copy(x, x_);
    }
    Shape shape = x_.shape();
    Shape strides = x_.strides();
    rows_ = shape.dim(-2);
    columns_ = shape.dim(-1);
    row_stride_ = strides.dim(-2);
    column_stride_ = strides.dim(-1);
    for (int i = 0; i < 2; ++i) {
      shape.erase(shape.rank() - 1);
      strides.erase(strides.rank() - 1);
    }
    for_each_offset(shape, strides, [&](int64_t offset) { offsets_.push_back(offset); });
  }

  int64_t size() const { return static_cast<int64_t>(offsets_.size()); }

  Matrix<T> matrix(int64_t i) const {
    const T* data = x_.data<T>() + offsets_[static_cast<size_t>(i)];
    // A stride along a dimension of size 1 says nothing.
    if (column_stride_ == 1 || columns_ == 1) {
      const int64_t leading = rows_ == 1 ? columns_ : row_stride_;
      if (leading >= columns_) {
        return {data, CblasNoTrans, std::max<int64_t>(leading, 1)};
      }
    }
    return {data, CblasTrans, std::max<int64_t>(columns_ == 1 ? rows_ : column_stride_, 1)};
  }

 private:
  static bool readable(const Tensor& x) {
    const int64_t rows = x.dim(-2);
    const int64_t columns = x.dim(-1);
    const int64_t row_stride = x.strides().dim(-2);
    const int64_t column_stride = x.strides().dim(-1);
    const bool row_major =
        (column_stride == 1 || columns == 1) && (rows == 1 || row_stride >= columns);
    const bool column_major =
        (row_stride == 1 || rows == 1) && (columns == 1 || column_stride >= rows);
    return row_major || column_major;
  }

  Tensor x_;
  int64_t rows_;
  int64_t columns_;
  int64_t row_stride_;
  int64_t column_stride_;
  std::vector<int64_t> offsets_;
};

void scale_in_place(CpuBackend& backend, const Tensor& y, double beta) {
  if (beta == 0) {
    backend.fill(y, 0);
  } else {
    backend.affine(y, beta, 0, y);
  }
}

}  // namespace

void CpuBackend::matmul(const Tensor& a, const Tensor& b, const Tensor& y, double beta) {
  const int64_t m = a.dim(-2);
  const int64_t k = a.dim(-1);
  const int64_t n = b.dim(-1);
  if (y.numel() == 0) {
    return;
  }
  check_sizes({m, n, k});
  dispatch_floating("matmul", y.dtype(), [&]<typename T>(T) {
    if (k == 0) {
      scale_in_place(*this, y, beta);
      return;
    }
    const Batch<T> left(a, *this);
    const Batch<T> right(b, *this);
    T* py = y.data<T>();
    const int64_t leading = m == 1 ? n : y.strides().dim(-2);
    Shape batch_shape = y.shape();
    Shape batch_strides = y.strides();
    for (int i = 0; i < 2; ++i) {
      batch_shape.erase(batch_shape.rank() - 1);
      batch_strides.erase(batch_strides.rank() - 1);
    }
    std::vector<int64_t> offsets;
    for_each_offset(batch_shape, batch_strides, [&](int64_t at) { offsets.push_back(at); });
    const auto factor = static_cast<T>(beta);
    const auto nothing = [](int64_t, int64_t) {};
    if (left.size() == 1) {
      split_product(left.matrix(0), right.matrix(0), m, n, k, factor, py, leading, false, nothing);
      return;
    }
    const int64_t grain = std::max<int64_t>(1, least_work_a_part / (m * n * k));
    parallel_for(left.size(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        product(left.matrix(i), right.matrix(i), m, n, k, factor,
                py + offsets[static_cast<size_t>(i)], leading);
      }
    });
  });
}

void CpuBackend::linear(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y) {
  const int64_t rows = x.dim(0);
  const int64_t in = x.dim(1);
  const int64_t out = w.dim(0);
  if (y.numel() == 0) {
    return;
  }
  check_sizes({rows, in, out});
  dispatch_floating("linear", y.dtype(), [&]<typename T>(T) {
    T* py = y.data<T>();
    const T* pb = bias.defined() ? bias.data<T>() : nullptr;
    const auto add_bias = [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end && pb != nullptr; ++n) {
        for (int64_t i = 0; i < out; ++i) {
          py[n * out + i] += pb[i];
        }
      }
    };
    if (in == 0) {
      fill(y, 0);
      add_bias(0, rows);
      return;
    }
    const Matrix<T> left{x.data<T>(), CblasNoTrans, in};
    const Matrix<T> right{w.data<T>(), CblasTrans, in};
    // A decoder's step is one row, or a beam's: BLAS would copy the weights to use them once.
    constexpr int64_t few = 8;
    if (rows <= few) {
      parallel_for(out, std::max<int64_t>(1, least_work_a_part / (rows * in)),
                   [&](int64_t begin, int64_t end) {
                     vector_math::few_rows(x.data<T>(), rows, in, w.data<T>() + begin * in,
                                           end - begin, py + begin, out);
                   });
      add_bias(0, rows);
      return;
    }
    // Few rows are split along the outputs instead.
    if (rows >= out / 4) {
      split_product(left, right, rows, out, in, T{0}, py, out, true, add_bias);
    } else {
      split_product(left, right, rows, out, in, T{0}, py, out, false, [](int64_t, int64_t) {});
      add_bias(0, rows);
    }
  });
}

}  // namespace heed::kernels
