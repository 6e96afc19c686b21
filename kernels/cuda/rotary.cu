#include <cmath>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elements.h"

namespace heed::kernels {
namespace cuda {

// x (..., D) without every second number: the first of each pair.
Tensor pairs_of(const Tensor& x, bool half) {
  Shape shape = x.shape();
  Shape strides = x.strides();
  shape[x.rank() - 1] /= 2;
  strides[x.rank() - 1] *= half ? 1 : 2;
  return x.as_strided(shape, strides, x.offset());
}

// (a, b) -> (a cos - b sin, a sin + b cos). Angles in f64: positions are large.
template <typename T>
void rotary_for(const Tensor& x, const Tensor& positions, double base, bool half, bool inverse,
                const Tensor& y) {
  const Tensor from = pairs_of(x, half);
  const Tensor to = pairs_of(y, half);
  const int64_t pairs = from.dim(-1);
  // A position for every pair of its row.
  Shape strides = positions.strides();
  strides.push_back(0);
  const Tensor here = positions.as_strided(from.shape(), strides, positions.offset());
  const int64_t gap = half ? pairs : 1;
  const int64_t x_gap = gap * x.strides().dim(-1);
  const int64_t y_gap = gap * y.strides().dim(-1);
  const double sign = inverse ? -1 : 1;
  const T* px = x.data<T>();
  const int32_t* position = positions.data<int32_t>();
  T* py = y.data<T>();
  for_each_element<3>({&to, &from, &here}, [=] __device__(int64_t i, const int64_t* at) {
    const double exponent = static_cast<double>(-(i % pairs)) / static_cast<double>(pairs);
    const double angle = position[at[2]] * (sign * std::pow(base, exponent));
    const auto cosine = static_cast<T>(std::cos(angle));
    const auto sine = static_cast<T>(std::sin(angle));
    const T a = px[at[1]];
    const T b = px[at[1] + x_gap];
    py[at[0]] = a * cosine - b * sine;
    py[at[0] + y_gap] = a * sine + b * cosine;
  });
}

}  // namespace cuda

void CudaBackend::rotary(const Tensor& x, const Tensor& positions, double base, bool half,
                         bool inverse, const Tensor& y) {
  dispatch_floating("rotary", x.dtype(), [&]<typename T>(T) {
    cuda::rotary_for<T>(x, positions, base, half, inverse, y);
  });
}

}  // namespace heed::kernels
