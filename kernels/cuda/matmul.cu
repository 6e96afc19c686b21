#include <cuda_bf16.h>

#include <optional>
#include <type_traits>
#include <utility>

#include "kernels/blas_layout.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elements.h"

namespace heed::kernels {
namespace cuda {

// Of the sizes or strides of (..., rows, columns): those of the batch.
Shape batch_of(Shape all) {
  all.erase(all.rank() - 1);
  all.erase(all.rank() - 1);
  return all;
}

// One side of a batch of products, as BLAS reads it. `steps` lead from matrix to matrix.
template <typename T>
struct Side {
  const T* data;
  BlasLayout layout;
  Shape steps;
};

template <typename T>
Side<T> side_of(const Tensor& x) {
  return {x.data<T>(), *blas_layout(x), batch_of(x.strides())};
}

void round_to_bf16(const Tensor& x, __nv_bfloat16* y) {
  const float* px = x.data<float>();
  for_each_element<1>({&x}, [=] __device__(int64_t i, const int64_t* at) {
    y[i] = __float2bfloat16_rn(px[at[0]]);
  });
}

// A side rounded to bf16: in the order in which it lies, and once where it repeats itself.
class Rounded {
 public:
  explicit Rounded(const Tensor& x)
      : turned_(turned(x)), distinct_(distinct(x, turned_)), memory_(distinct_.numel()) {
    round_to_bf16(distinct_, memory_.data());
  }

  Side<__nv_bfloat16> side() const {
    Shape steps = batch_of(distinct_.shape().strides());
    for (int d = 0; d < steps.rank(); ++d) {
      steps[d] = distinct_.dim(d) == 1 ? 0 : steps[d];
    }
    return {memory_.data(), {turned_, distinct_.dim(-1)}, steps};
  }

 private:
  static bool turned(const Tensor& x) {
    const std::optional<BlasLayout> layout = blas_layout(x);
    return layout && layout->transposed;
  }
  static Tensor distinct(const Tensor& x, bool turned) {
    Shape sizes = x.shape();
    Shape strides = x.strides();
    const int rank = sizes.rank();
    for (int d = 0; d < rank - 2; ++d) {
      sizes[d] = strides[d] == 0 ? 1 : sizes[d];
    }
    if (turned) {
      std::swap(sizes[rank - 2], sizes[rank - 1]);
      std::swap(strides[rank - 2], strides[rank - 1]);
    }
    return x.as_strided(sizes, strides, x.offset());
  }

  bool turned_;
  Tensor distinct_;
  Scratch<__nv_bfloat16> memory_;
};

template <typename T>
constexpr cudaDataType type_of() {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return CUDA_R_16BF;
  } else {
    return std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
  }
}

template <typename T, typename S>
__global__ void pointer_kernel(Elements<3> elements, T* y, const S* a, const S* b, void** ys,
                               const void** as, const void** bs) {
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
template <typename T, typename S>
void products(const Side<S>& a, const Side<S>& b, int64_t summed, const Tensor& y, double beta,
              cublasComputeType_t compute) {
  const auto operation = [](const Side<S>& x) {
    return x.layout.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  const int m = blas_int<int>(y.dim(-2));
  const int n = blas_int<int>(y.dim(-1));
  const int k = blas_int<int>(summed);
  const int a_leading = blas_int<int>(a.layout.leading);
  const int b_leading = blas_int<int>(b.layout.leading);
  const int y_leading = blas_int<int>(m == 1 ? n : y.strides().dim(-2));
  const T one = 1;
  const auto factor = static_cast<T>(beta);
  const cublasHandle_t blas = context().blas;
  const Shape batch = batch_of(y.shape());
  const Loop<3> loop(batch, {batch_of(y.strides()), a.steps, b.steps});
  const int count = blas_int<int>(batch.numel());
  if (loop.outer() == 1) {
    HEED_CUDA_CALL(cublasGemmStridedBatchedEx(
        blas, operation(b), operation(a), n, m, k, &one, b.data, type_of<S>(), b_leading,
        loop.inner_stride(2), a.data, type_of<S>(), a_leading, loop.inner_stride(1), &factor,
        y.data<T>(), type_of<T>(), y_leading, loop.inner_stride(0), count, compute,
        CUBLAS_GEMM_DEFAULT));
    return;
  }
  const Scratch<void*> y_pointers(count);
  const Scratch<const void*> a_pointers(count);
  const Scratch<const void*> b_pointers(count);
  launch(pointer_kernel<T, S>, spread(count), Elements<3>(loop), y.data<T>(), a.data, b.data,
         y_pointers.data(), a_pointers.data(), b_pointers.data());
  HEED_CUDA_CALL(cublasGemmBatchedEx(blas, operation(b), operation(a), n, m, k, &one,
                                     b_pointers.data(), type_of<S>(), b_leading, a_pointers.data(),
                                     type_of<S>(), a_leading, &factor, y_pointers.data(),
                                     type_of<T>(), y_leading, count, compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace cuda

void CudaBackend::matmul(const Tensor& a, const Tensor& b, const Tensor& y, double beta) {
  if (y.numel() == 0) {
    return;
  }
  for (const int64_t size : {a.dim(-2), a.dim(-1), b.dim(-1)}) {
    blas_int<int>(size);
  }
  const int64_t summed = a.dim(-1);
  if (summed == 0) {
    if (beta == 0) {
      fill(y, 0);
    } else {
      affine(y, beta, 0, y);
    }
    return;
  }
  if (y.dtype() == DType::f32 && precision_ == Precision::bf16) {
    const cuda::Rounded left(a);
    const cuda::Rounded right(b);
    cuda::products<float>(left.side(), right.side(), summed, y, beta, CUBLAS_COMPUTE_32F);
    return;
  }
  const Tensor left = blas_readable(*this, a);
  const Tensor right = blas_readable(*this, b);
  dispatch_floating("matmul", y.dtype(), [&]<typename T>(T) {
    const cublasComputeType_t in_f32 =
        precision_ == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cuda::products<T>(cuda::side_of<T>(left), cuda::side_of<T>(right), summed, y, beta,
                      std::is_same_v<T, float> ? in_f32 : CUBLAS_COMPUTE_64F);
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
