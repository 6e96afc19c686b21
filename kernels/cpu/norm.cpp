#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {

using vector_math::Centring;

void CpuBackend::layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            double epsilon, const Tensor& y, const Tensor& mean,
                            const Tensor& rstd) {
  const int64_t width = x.dim(1);
  dispatch_floating("layer_norm", x.dtype(), [&]<typename T>(T) {
    const T* b = bias.defined() ? bias.data<T>() : nullptr;
    for_each_row(x.dim(0), width, [&](int64_t n) {
      const auto norm =
          vector_math::normalize(Centring::mean, static_cast<T>(epsilon), x.data<T>() + n * width,
                                 weight.data<T>(), b, y.data<T>() + n * width, width);
      mean.data<T>()[n] = norm.mean;
      rstd.data<T>()[n] = norm.rstd;
    });
  });
}

void CpuBackend::layer_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& mean,
                                     const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                                     const Tensor& dweight, const Tensor& dbias) {
  const int64_t width = x.dim(1);
  const int64_t summed = dbias.defined() ? 2 * width : width;
  dispatch_floating("layer_norm_backward", x.dtype(), [&]<typename T>(T) {
    std::vector<T> sums(static_cast<size_t>(summed));
    sum_over_rows(x.dim(0), summed, sums.data(), [&](int64_t begin, int64_t end, T* partial) {
      T* partial_bias = dbias.defined() ? partial + width : nullptr;
      for (int64_t n = begin; n < end; ++n) {
        vector_math::normalize_backward<T>(Centring::mean, {mean.data<T>()[n], rstd.data<T>()[n]},
                                           x.data<T>() + n * width, weight.data<T>(),
                                           dy.data<T>() + n * width, dx.data<T>() + n * width,
                                           partial, partial_bias, width);
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
    for_each_row(x.dim(0), width, [&](int64_t n) {
      rstd.data<T>()[n] = vector_math::normalize<T>(Centring::none, static_cast<T>(epsilon),
                                                    x.data<T>() + n * width, weight.data<T>(),
                                                    nullptr, y.data<T>() + n * width, width)
                              .rstd;
    });
  });
}

void CpuBackend::rms_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& rstd,
                                   const Tensor& dy, const Tensor& dx, const Tensor& dweight) {
  const int64_t width = x.dim(1);
  dispatch_floating("rms_norm_backward", x.dtype(), [&]<typename T>(T) {
    sum_over_rows(x.dim(0), width, dweight.data<T>(), [&](int64_t begin, int64_t end, T* partial) {
      for (int64_t n = begin; n < end; ++n) {
        vector_math::normalize_backward<T>(
            Centring::none, {0, rstd.data<T>()[n]}, x.data<T>() + n * width, weight.data<T>(),
            dy.data<T>() + n * width, dx.data<T>() + n * width, partial, nullptr, width);
      }
    });
  });
}

}  // namespace heed::kernels
