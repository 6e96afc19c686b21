#include <type_traits>

#include "kernels/blas_layout.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elements.h"

namespace heed::kernels {
namespace cuda {

template <typename T>
__global__ void pointer_kernel(Elements<3> elements, T* y, const T* a, const T* b, T** ys,
                               const T** as, const T** bs) {
  each_item(elements.count, [&](int64_t i) {
    int64_t at[3];
    elements.offsets(i, at);
    ys[i] = y + at[0];
    as[i] = a + at[1];
    bs[i] = b + at[2];
  });
}

// y = a b + beta y. cuBLAS is column-major, where a row-major matrix is its transpose:
// y^T = b^T a^T.
template <typename T>
void products(const Tensor& a, const Tensor& b, const Tensor& y, double beta) {
  const BlasLayout left = *blas_layout(a);
  const BlasLayout right = *blas_layout(b);
  const auto operation = [](const BlasLayout& x) {
    return x.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  const int m = blas_int<int>(a.dim(-2));
  const int n = blas_int<int>(b.dim(-1));
  const int k = blas_int<int>(a.dim(-1));
  const int a_leading = blas_int<int>(left.leading);
  const int b_leading = blas_int<int>(right.leading);
  const int y_leading = blas_int<int>(m == 1 ? n : y.strides().dim(-2));
  const T one = 1;
  const auto factor = static_cast<T>(beta);
  const cublasHandle_t blas = context().blas;
  const Tensor ys = first_elements(y);
  const Tensor as = first_elements(a);
  const Tensor bs = first_elements(b);
  const Loop<3> loop({&ys, &as, &bs});
  const int count = blas_int<int>(ys.numel());
  if (loop.outer() == 1) {
    const auto gemm = [] {
      if constexpr (std::is_same_v<T, float>) {
        return cublasSgemmStridedBatched;
      } else {
        return cublasDgemmStridedBatched;
      }
    }();
    HEED_CUDA_CALL(gemm(blas, operation(right), operation(left), n, m, k, &one, b.data<T>(),
                        b_leading, loop.inner_stride(2), a.data<T>(), a_leading,
                        loop.inner_stride(1), &factor, y.data<T>(), y_leading, loop.inner_stride(0),
                        count));
    return;
  }
  const Scratch<T*> y_pointers(count);
  const Scratch<const T*> a_pointers(count);
  const Scratch<const T*> b_pointers(count);
  launch(pointer_kernel<T>, spread(count), Elements<3>(loop), y.data<T>(), a.data<T>(), b.data<T>(),
         y_pointers.data(), a_pointers.data(), b_pointers.data());
  const auto gemm = [] {
    if constexpr (std::is_same_v<T, float>) {
      return cublasSgemmBatched;
    } else {
      return cublasDgemmBatched;
    }
  }();
  HEED_CUDA_CALL(gemm(blas, operation(right), operation(left), n, m, k, &one, b_pointers.data(),
                      b_leading, a_pointers.data(), a_leading, &factor, y_pointers.data(),
                      y_leading, count));
}

}  // namespace cuda

void CudaBackend::matmul(const Tensor& a, const Tensor& b, const Tensor& y, double beta) {
  if (y.numel() == 0) {
    return;
  }
  for (const int64_t size : {a.dim(-2), a.dim(-1), b.dim(-1)}) {
    blas_int<int>(size);
  }
  if (a.dim(-1) == 0) {
    if (beta == 0) {
      fill(y, 0);
    } else {
      affine(y, beta, 0, y);
    }
    return;
  }
  dispatch_floating("matmul", y.dtype(), [&]<typename T>(T) {
    cuda::products<T>(blas_readable(*this, a), blas_readable(*this, b), y, beta);
  });
}

void CudaBackend::linear(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y) {
  if (bias.defined()) {
    copy(bias.as_strided(y.shape(), {0, bias.strides()[0]}, bias.offset()), y);
  }
  matmul(x, w.as_strided({w.dim(1), w.dim(0)}, {w.strides()[1], w.strides()[0]}, w.offset()), y,
         bias.defined() ? 1 : 0);
}

}  // namespace heed::kernels
