#include "kernels/cuda/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elements.h"
#include "kernels/cuda/random.h"

namespace heed::kernels {
namespace cuda {

template <typename T>
void fill_with(const Tensor& y, T value) {
  T* py = y.data<T>();
  for_each_element<1>({&y}, [=] __device__(int64_t, const int64_t* at) { py[at[0]] = value; });
}

template <typename X, typename Y>
void copy_to(const Tensor& x, const Tensor& y) {
  const X* px = x.data<X>();
  Y* py = y.data<Y>();
  for_each_element<2>({&y, &x}, [=] __device__(int64_t, const int64_t* at) {
    py[at[0]] = static_cast<Y>(px[at[1]]);
  });
}

template <typename T>
__device__ T binary_value(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::subtract:
      return a - b;
    case BinaryOp::multiply:
      return a * b;
    case BinaryOp::divide:
      return a / b;
    // Written so that NaN on either side gives NaN.
    case BinaryOp::maximum:
      return a > b || a != a ? a : b;
    case BinaryOp::minimum:
      break;
  }
  return a < b || a != a ? a : b;
}

template <typename T>
void binary_for(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) {
  const T* pa = a.data<T>();
  const T* pb = b.data<T>();
  T* py = y.data<T>();
  for_each_element<3>({&y, &a, &b}, [=] __device__(int64_t, const int64_t* at) {
    py[at[0]] = binary_value(op, pa[at[1]], pb[at[2]]);
  });
}

template <typename T>
__device__ bool compare_values(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::equal:
      return a == b;
    case CompareOp::not_equal:
      return a != b;
    case CompareOp::less:
      return a < b;
    case CompareOp::less_equal:
      break;
  }
  return a <= b;
}

template <typename T>
void compare_for(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& y) {
  const T* pa = a.data<T>();
  const T* pb = b.data<T>();
  bool* py = y.data<bool>();
  for_each_element<3>({&y, &a, &b}, [=] __device__(int64_t, const int64_t* at) {
    py[at[0]] = compare_values(op, pa[at[1]], pb[at[2]]);
  });
}

template <typename T>
void affine_for(const Tensor& x, double scale, double shift, const Tensor& y) {
  const T* px = x.data<T>();
  T* py = y.data<T>();
  const auto s = static_cast<T>(scale);
  const auto t = static_cast<T>(shift);
  for_each_element<2>(
      {&y, &x}, [=] __device__(int64_t, const int64_t* at) { py[at[0]] = s * px[at[1]] + t; });
}

template <typename T>
void where_for(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& y) {
  const bool* pc = condition.data<bool>();
  const T* pa = a.data<T>();
  const T* pb = b.data<T>();
  T* py = y.data<T>();
  for_each_element<4>({&y, &condition, &a, &b}, [=] __device__(int64_t, const int64_t* at) {
    py[at[0]] = pc[at[1]] ? pa[at[2]] : pb[at[3]];
  });
}

// A thread draws four numbers, for as many neighbouring elements.
template <typename T>
__global__ void dropout_kernel(Elements<2> elements, Dropout dropout, const T* x, T* y) {
  const auto scale = static_cast<T>(dropout.scale);
  each_item(Dropout::blocks(elements.count), [&](int64_t block) {
    dropout.each_of_block(0, elements.count, block, [&](int64_t i, bool kept) {
      int64_t at[2];
      elements.offsets(i, at);
      y[at[0]] = kept ? x[at[1]] * scale : T{0};
    });
  });
}

}  // namespace cuda

void CudaBackend::fill(const Tensor& y, double value) {
  dispatch_all(y.dtype(), [&]<typename T>(T) { cuda::fill_with(y, static_cast<T>(value)); });
}

void CudaBackend::copy(const Tensor& x, const Tensor& y) {
  if (x.dtype() == y.dtype() && x.is_contiguous() && y.is_contiguous()) {
    const int64_t bytes = x.numel() * dtype_size(x.dtype());
    if (bytes > 0) {
      HEED_CUDA_CALL(cudaMemcpyAsync(y.raw_data(), x.raw_data(), static_cast<size_t>(bytes),
                                     cudaMemcpyDeviceToDevice, cuda::stream()));
    }
    return;
  }
  dispatch_all(x.dtype(), [&]<typename X>(X) {
    dispatch_all(y.dtype(), [&]<typename Y>(Y) { cuda::copy_to<X, Y>(x, y); });
  });
}

void CudaBackend::binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) {
  if (y.dtype() == DType::i32) {
    cuda::binary_for<int32_t>(op, a, b, y);
    return;
  }
  dispatch_floating("binary", y.dtype(), [&]<typename T>(T) { cuda::binary_for<T>(op, a, b, y); });
}

void CudaBackend::compare(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& y) {
  dispatch_all(a.dtype(), [&]<typename T>(T) { cuda::compare_for<T>(op, a, b, y); });
}

void CudaBackend::affine(const Tensor& x, double scale, double shift, const Tensor& y) {
  dispatch_floating("affine", x.dtype(),
                    [&]<typename T>(T) { cuda::affine_for<T>(x, scale, shift, y); });
}

void CudaBackend::where(const Tensor& condition, const Tensor& a, const Tensor& b,
                        const Tensor& y) {
  dispatch_all(y.dtype(), [&]<typename T>(T) { cuda::where_for<T>(condition, a, b, y); });
}

void CudaBackend::dropout(const Tensor& x, double p, const RandomState& random, const Tensor& y) {
  if (x.numel() == 0) {
    return;
  }
  dispatch_floating("dropout", x.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::dropout_kernel<T>, cuda::spread(cuda::Dropout::blocks(x.numel())),
                 cuda::Elements<2>(Loop<2>({&y, &x})), cuda::Dropout(p, random), x.data<T>(),
                 y.data<T>());
  });
}

}  // namespace heed::kernels
