#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {
namespace {

// The mask of each row of (..., S), whatever its strides.
class MaskRows {
 public:
  explicit MaskRows(const Tensor& mask) : mask_(mask) {
    if (!mask.defined()) {
      return;
    }
    Shape shape = mask.shape();
    Shape strides = mask.strides();
    step_ = strides.dim(-1);
    shape.erase(shape.rank() - 1);
    strides.erase(strides.rank() - 1);
    for_each_offset(shape, strides, [&](int64_t at) { offsets_.push_back(at); });
  }
  bool defined() const { return mask_.defined(); }
  bool at(int64_t row, int64_t i) const {
    return mask_.data<bool>()[offsets_[static_cast<size_t>(row)] + i * step_];
  }

 private:
  Tensor mask_;
  int64_t step_ = 0;
  std::vector<int64_t> offsets_;
};

// y = x with masked entries replaced by -inf, so that what stood there is never read again.
template <typename T>
const T* masked_row(const MaskRows& mask, int64_t row, const T* x, T* y, int64_t width) {
  if (!mask.defined()) {
    return x;
  }
  for (int64_t i = 0; i < width; ++i) {
    y[i] = mask.at(row, i) ? x[i] : -std::numeric_limits<T>::infinity();
  }
  return y;
}

template <typename T>
void softmax_rows(const Tensor& x, const Tensor& mask, const Tensor& y, bool logarithm) {
  const int64_t width = x.dim(-1);
  if (x.numel() == 0) {
    return;
  }
  const MaskRows mask_rows(mask);
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  for_each_row(x.numel() / width, width, [&](int64_t row) {
    T* py = y.data<T>() + row * width;
    const T* px = masked_row(mask_rows, row, x.data<T>() + row * width, py, width);
    const T largest = vector_math::largest_of(px, width);
    if (largest == nothing) {
      std::fill_n(py, width, logarithm ? nothing : T{0});
      return;
    }
    if (logarithm) {
      // In two steps: the difference keeps the digits that a large logit would cost the sum.
      const T log_sum = std::log(vector_math::sum_exp_minus(px, largest, width));
      for (int64_t i = 0; i < width; ++i) {
        py[i] = (px[i] - largest) - log_sum;
      }
      return;
    }
    const T scale = 1 / vector_math::exp_minus(px, largest, py, width);
    for (int64_t i = 0; i < width; ++i) {
      py[i] *= scale;
    }
  });
}

}  // namespace

void CpuBackend::softmax(const Tensor& x, const Tensor& mask, const Tensor& y) {
  dispatch_floating("softmax", x.dtype(),
                    [&]<typename T>(T) { softmax_rows<T>(x, mask, y, false); });
}

void CpuBackend::log_softmax(const Tensor& x, const Tensor& mask, const Tensor& y) {
  dispatch_floating("log_softmax", x.dtype(),
                    [&]<typename T>(T) { softmax_rows<T>(x, mask, y, true); });
}

void CpuBackend::softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  const int64_t width = y.dim(-1);
  dispatch_floating("softmax_backward", y.dtype(), [&]<typename T>(T) {
    for_each_row(width == 0 ? 0 : y.numel() / width, width, [&](int64_t row) {
      const T* a = y.data<T>() + row * width;
      const T* g = dy.data<T>() + row * width;
      T* out = dx.data<T>() + row * width;
      // An entry that takes no part has a = 0; what its cotangent holds must not reach the others.
      T dot = 0;
      for (int64_t i = 0; i < width; ++i) {
        dot += a[i] == 0 ? T{0} : a[i] * g[i];
      }
      for (int64_t i = 0; i < width; ++i) {
        out[i] = a[i] == 0 ? T{0} : a[i] * (g[i] - dot);
      }
    });
  });
}

void CpuBackend::log_softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  const int64_t width = y.dim(-1);
  dispatch_floating("log_softmax_backward", y.dtype(), [&]<typename T>(T) {
    constexpr T nothing = -std::numeric_limits<T>::infinity();
    for_each_row(width == 0 ? 0 : y.numel() / width, width, [&](int64_t row) {
      const T* log_p = y.data<T>() + row * width;
      const T* g = dy.data<T>() + row * width;
      T* out = dx.data<T>() + row * width;
      T sum = 0;
      for (int64_t i = 0; i < width; ++i) {
        sum += log_p[i] == nothing ? T{0} : g[i];
      }
      vector_math::exp(log_p, out, width);
      for (int64_t i = 0; i < width; ++i) {
        out[i] = log_p[i] == nothing ? T{0} : g[i] - out[i] * sum;
      }
    });
  });
}

}  // namespace heed::kernels
