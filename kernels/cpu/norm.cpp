#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"

namespace heed::kernels {

void CpuBackend::layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            double epsilon, const Tensor& y, const Tensor& mean,
                            const Tensor& rstd) {
  const int64_t width = x.dim(1);
  dispatch_floating("layer_norm", x.dtype(), [&]<typename T>(T) {
    const T* w = weight.data<T>();
    const T* b = bias.defined() ? bias.data<T>() : nullptr;
    for_each_row(x.dim(0), width, [&](int64_t n) {
      const T* row = x.data<T>() + n * width;
      T* out = y.data<T>() + n * width;
      T sum = 0;
      for (int64_t i = 0; i < width; ++i) {
        sum += row[i];
      }
      const T centre = sum / static_cast<T>(width);
      T squares = 0;
      for (int64_t i = 0; i < width; ++i) {
        squares += (row[i] - centre) * (row[i] - centre);
      }
      const T scale = 1 / std::sqrt(squares / static_cast<T>(width) + static_cast<T>(epsilon));
      for (int64_t i = 0; i < width; ++i) {
        out[i] = (row[i] - centre) * scale * w[i];
      }
      for (int64_t i = 0; b != nullptr && i < width; ++i) {
        out[i] += b[i];
      }
      mean.data<T>()[n] = centre;
      rstd.data<T>()[n] = scale;
    });
  });
}

// With xhat = (x - mean) rstd and h = dy weight:
// dx = rstd (h - mean(h) - xhat mean(h xhat)), dweight = sum dy xhat, dbias = sum dy.
void CpuBackend::layer_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& mean,
                                     const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                                     const Tensor& dweight, const Tensor& dbias) {
  const int64_t width = x.dim(1);
  dispatch_floating("layer_norm_backward", x.dtype(), [&]<typename T>(T) {
    const T* w = weight.data<T>();
    std::vector<T> sums(static_cast<size_t>(2 * width));
    sum_over_rows(x.dim(0), 2 * width, sums.data(), [&](int64_t begin, int64_t end, T* partial) {
      T* partial_weight = partial;
      T* partial_bias = partial + width;
      for (int64_t n = begin; n < end; ++n) {
        const T* row = x.data<T>() + n * width;
        const T* g = dy.data<T>() + n * width;
        T* out = dx.data<T>() + n * width;
        const T centre = mean.data<T>()[n];
        const T scale = rstd.data<T>()[n];
        T mean_h = 0;
        T mean_h_xhat = 0;
        for (int64_t i = 0; i < width; ++i) {
          const T xhat = (row[i] - centre) * scale;
          const T h = g[i] * w[i];
          mean_h += h;
          mean_h_xhat += h * xhat;
          partial_weight[i] += g[i] * xhat;
          partial_bias[i] += g[i];
        }
        mean_h /= static_cast<T>(width);
        mean_h_xhat /= static_cast<T>(width);
        for (int64_t i = 0; i < width; ++i) {
          const T xhat = (row[i] - centre) * scale;
          out[i] = scale * (g[i] * w[i] - mean_h - xhat * mean_h_xhat);
        }
      }
    });
    std::copy_n(sums.data(), width, dweight.data<T>());
    if (dbias.defined()) {
      std::copy_n(sums.data() + width, width, dbias.data<T>());
    }
  });
}

void CpuBackend::rms_norm(const Tensor& x, const Tensor& weight, double epsilon, const Tensor& y,
                          const Tensor& rstd) {
  const int64_t width = x.dim(1);
  dispatch_floating("rms_norm", x.dtype(), [&]<typename T>(T) {
    const T* w = weight.data<T>();
    for_each_row(x.dim(0), width, [&](int64_t n) {
      const T* row = x.data<T>() + n * width;
      T* out = y.data<T>() + n * width;
      T squares = 0;
      for (int64_t i = 0; i < width; ++i) {
        squares += row[i] * row[i];
      }
      const T scale = 1 / std::sqrt(squares / static_cast<T>(width) + static_cast<T>(epsilon));
      for (int64_t i = 0; i < width; ++i) {
        out[i] = row[i] * scale * w[i];
      }
      rstd.data<T>()[n] = scale;
    });
  });
}

// With xhat = x rstd and h = dy weight: dx = rstd (h - xhat mean(h xhat)), dweight = sum dy xhat.
void CpuBackend::rms_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& rstd,
                                   const Tensor& dy, const Tensor& dx, const Tensor& dweight) {
  const int64_t width = x.dim(1);
  dispatch_floating("rms_norm_backward", x.dtype(), [&]<typename T>(T) {
    const T* w = weight.data<T>();
    sum_over_rows(x.dim(0), width, dweight.data<T>(), [&](int64_t begin, int64_t end, T* partial) {
      for (int64_t n = begin; n < end; ++n) {
        const T* row = x.data<T>() + n * width;
        const T* g = dy.data<T>() + n * width;
        T* out = dx.data<T>() + n * width;
        const T scale = rstd.data<T>()[n];
        T mean_h_xhat = 0;
        for (int64_t i = 0; i < width; ++i) {
          const T xhat = row[i] * scale;
          mean_h_xhat += g[i] * w[i] * xhat;
          partial[i] += g[i] * xhat;
        }
        mean_h_xhat /= static_cast<T>(width);
        for (int64_t i = 0; i < width; ++i) {
          out[i] = scale * (g[i] * w[i] - row[i] * scale * mean_h_xhat);
        }
      }
    });
  });
}

}  // namespace heed::kernels
