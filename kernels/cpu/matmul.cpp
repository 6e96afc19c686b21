#include <cblas.h>

#include <algorithm>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "core/memory.h"
#include "core/threads.h"
#include "kernels/blas_layout.h"
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

// Before anything is copied or split.
void check_sizes(std::initializer_list<int64_t> sizes) {
  for (const int64_t size : sizes) {
    blas_int<blasint>(size);
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
  gemm(CblasRowMajor, a.transposed, b.transposed, blas_int<blasint>(m), blas_int<blasint>(n),
       blas_int<blasint>(k), T{1}, a.data, blas_int<blasint>(a.leading), b.data,
       blas_int<blasint>(b.leading), beta, y, blas_int<blasint>(y_leading));
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

// Where the matrices of a batch begin.
std::vector<int64_t> offsets_of(const Tensor& x) {
  const Tensor first = first_elements(x);
  std::vector<int64_t> offsets;
  for_each_offset(first.shape(), first.strides(), [&](int64_t at) { offsets.push_back(at); });
  return offsets;
}

// The matrices of a batch, copied where BLAS cannot read them in place.
template <typename T>
class Batch {
 public:
  Batch(const Tensor& x, CpuBackend& backend)
      : x_(blas_readable(backend, x)), layout_(*blas_layout(x_)), offsets_(offsets_of(x_)) {}

  int64_t size() const { return static_cast<int64_t>(offsets_.size()); }
  Matrix<T> matrix(int64_t i) const {
    return {x_.data<T>() + offsets_[static_cast<size_t>(i)],
            layout_.transposed ? CblasTrans : CblasNoTrans, layout_.leading};
  }

 private:
  Tensor x_;
  BlasLayout layout_;
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
    const std::vector<int64_t> offsets = offsets_of(y);
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
