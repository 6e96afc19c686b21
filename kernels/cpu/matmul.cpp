#include <cblas.h>

#include <algorithm>
#include <vector>

#include "core/memory.h"
#include "core/threads.h"
#include "kernels/cpu/cpu_backend.h"

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

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k, const float* a,
          int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
              1.0F, a, static_cast<int>(lda), b, static_cast<int>(ldb), beta, c,
              static_cast<int>(ldc));
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k, const double* a,
          int64_t lda, const double* b, int64_t ldb, double beta, double* c, int64_t ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
              1.0, a, static_cast<int>(lda), b, static_cast<int>(ldb), beta, c,
              static_cast<int>(ldc));
}

template <typename T>
void product(const Matrix<T>& a, const Matrix<T>& b, int64_t m, int64_t n, int64_t k, T beta, T* y,
             int64_t y_leading) {
  gemm(a.transposed, b.transposed, m, n, k, a.data, a.leading, b.data, b.leading, beta, y,
       y_leading);
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
  if (by_rows || m >= n) {
    const int64_t tiles = (m + tile - 1) / tile;
    const int64_t grain =
        std::max<int64_t>(1, least_work_a_part / std::max<int64_t>(1, tile * n * k));
    parallel_for(tiles, grain, [&](int64_t first, int64_t last) {
      const int64_t begin = first * tile;
      const int64_t end = std::min(m, last * tile);
      Matrix<T> part = a;
      part.data = a.row(begin);
      product(part, b, end - begin, n, k, beta, y + begin * y_leading, y_leading);
      after(begin, end);
    });
    return;
  }
  const int64_t tiles = (n + tile - 1) / tile;
  const int64_t grain =
      std::max<int64_t>(1, least_work_a_part / std::max<int64_t>(1, tile * m * k));
  parallel_for(tiles, grain, [&](int64_t first, int64_t last) {
    const int64_t begin = first * tile;
    const int64_t end = std::min(n, last * tile);
    Matrix<T> part = b;
    part.data = b.column(begin);
    product(a, part, m, end - begin, k, beta, y + begin, y_leading);
  });
}

// The matrices of a batch. Those that BLAS cannot read in place (neither stride is 1) are copied.
template <typename T>
class Batch {
 public:
  Batch(const Tensor& x, CpuBackend& backend) : x_(x) {
    if (!readable(x_)) {
      x_ = Tensor::empty(x.shape(), x.dtype());
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
    // Few rows (a decoder's step) are split along the outputs instead.
    if (rows >= out / 4) {
      split_product(left, right, rows, out, in, T{0}, py, out, true, add_bias);
    } else {
      split_product(left, right, rows, out, in, T{0}, py, out, false, [](int64_t, int64_t) {});
      add_bias(0, rows);
    }
  });
}

}  // namespace heed::kernels
