#include <cblas.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/cuda/emulator/cublas_v2.h"
#include "kernels/cuda/emulator/cuda_bf16.h"
#include "kernels/cuda/emulator/emulator.h"

namespace {

CBLAS_TRANSPOSE operation(cublasOperation_t transposed) {
  return transposed == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

// Sizes and types of a batch of products.
struct Products {
  cublasOperation_t ta, tb;
  int m, n, k, lda, ldb, ldc, count;
  cudaDataType a_type, b_type, c_type;
  cublasComputeType_t compute;

  bool valid() const {
    return m >= 0 && n >= 0 && k >= 0 && count >= 0 &&
           lda >= std::max(1, ta == CUBLAS_OP_N ? m : k) &&
           ldb >= std::max(1, tb == CUBLAS_OP_N ? k : n) && ldc >= std::max(1, m);
  }
  bool supported() const {
    return a_type == b_type &&
           (a_type == CUDA_R_64F ? c_type == CUDA_R_64F && compute == CUBLAS_COMPUTE_64F
                                 : c_type == CUDA_R_32F && compute != CUBLAS_COMPUTE_64F);
  }
};

float to_tf32(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return x - x != 0 ? x : std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffU);
}

// A stored matrix as the multipliers get it: `memory`, or f32 in place.
const float* operand(const Products& p, const void* x, int rows, int columns, int leading,
                     std::vector<float>& memory) {
  const bool bf16 = p.a_type == CUDA_R_16BF;
  if (!bf16 && p.compute == CUBLAS_COMPUTE_32F) {
    return static_cast<const float*>(x);
  }
  memory.assign(static_cast<size_t>(leading) * static_cast<size_t>(columns), 0);
  for (int column = 0; column < columns; ++column) {
    for (int row = 0; row < rows; ++row) {
      const auto at =
          static_cast<size_t>(column) * static_cast<size_t>(leading) + static_cast<size_t>(row);
      memory[at] = bf16 ? __bfloat162float(static_cast<const __nv_bfloat16*>(x)[at])
                        : to_tf32(static_cast<const float*>(x)[at]);
    }
  }
  return memory.data();
}

void multiply(const Products& p, const void* alpha, const void* a, const void* b, const void* beta,
              void* c) {
  if (p.a_type == CUDA_R_64F) {
    cblas_dgemm(CblasColMajor, operation(p.ta), operation(p.tb), p.m, p.n, p.k,
                *static_cast<const double*>(alpha), static_cast<const double*>(a), p.lda,
                static_cast<const double*>(b), p.ldb, *static_cast<const double*>(beta),
                static_cast<double*>(c), p.ldc);
    return;
  }
  std::vector<float> a_memory;
  std::vector<float> b_memory;
  const bool a_plain = p.ta == CUBLAS_OP_N;
  const bool b_plain = p.tb == CUBLAS_OP_N;
  cblas_sgemm(CblasColMajor, operation(p.ta), operation(p.tb), p.m, p.n, p.k,
              *static_cast<const float*>(alpha),
              operand(p, a, a_plain ? p.m : p.k, a_plain ? p.k : p.m, p.lda, a_memory), p.lda,
              operand(p, b, b_plain ? p.k : p.n, b_plain ? p.n : p.k, p.ldb, b_memory), p.ldb,
              *static_cast<const float*>(beta), static_cast<float*>(c), p.ldc);
}

// a(i), b(i), c(i): the matrices of product i.
template <typename A, typename B, typename C>
cublasStatus_t multiply_all(const Products& p, const void* alpha, const void* beta, A a, B b, C c) {
  if (!p.valid()) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!p.supported()) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  {
    const heed::emulator::DeviceAccess access;
    openblas_set_num_threads(1);
    for (int i = 0; i < p.count; ++i) {
      multiply(p, alpha, a(i), b(i), beta, c(i));
    }
  }
  heed::emulator::check_bounds();
  return CUBLAS_STATUS_SUCCESS;
}

// Matrix i of those that lie `step` elements apart.
template <typename V>
V* at(V* x, cudaDataType type, long long step, int i) {
  const long long bytes = type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
  using Byte = std::conditional_t<std::is_const_v<V>, const char, char>;
  return static_cast<Byte*>(x) + i * step * bytes;
}

}  // namespace

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an argument is invalid";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      break;
  }
  return "the combination of types is not supported";
}
cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType a_type, int lda, long long a_step, const void* b,
    cudaDataType b_type, int ldb, long long b_step, const void* beta, void* c, cudaDataType c_type,
    int ldc, long long c_step, int count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return multiply_all(
      {ta, tb, m, n, k, lda, ldb, ldc, count, a_type, b_type, c_type, compute}, alpha, beta,
      [=](int i) { return at(a, a_type, a_step, i); },
      [=](int i) { return at(b, b_type, b_step, i); },
      [=](int i) { return at(c, c_type, c_step, i); });
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb,
                                   int m, int n, int k, const void* alpha, const void* const a[],
                                   cudaDataType a_type, int lda, const void* const b[],
                                   cudaDataType b_type, int ldb, const void* beta, void* const c[],
                                   cudaDataType c_type, int ldc, int count,
                                   cublasComputeType_t compute, cublasGemmAlgo_t) {
  return multiply_all(
      {ta, tb, m, n, k, lda, ldb, ldc, count, a_type, b_type, c_type, compute}, alpha, beta,
      [=](int i) { return a[i]; }, [=](int i) { return b[i]; }, [=](int i) { return c[i]; });
}
