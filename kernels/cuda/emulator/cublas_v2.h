#pragma once

#include "kernels/cuda/emulator/cuda_runtime.h"

// The cuBLAS calls that heed makes, over OpenBLAS. Column-major, as there.

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cudaDataType { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16BF = 14 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77  // rounds f32 operands to 11 significant bits
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
using cublasHandle_t = struct EmulatedBlas*;

HEED_EXPORT const char* cublasGetStatusString(cublasStatus_t status);
HEED_EXPORT cublasStatus_t cublasCreate(cublasHandle_t* handle);
HEED_EXPORT cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);

// f64 throughout; or f32 from f32 or bf16, with alpha and beta in f32.
HEED_EXPORT cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t a_transposed, cublasOperation_t b_transposed, int m,
    int n, int k, const void* alpha, const void* a, cudaDataType a_type, int a_leading,
    long long a_step, const void* b, cudaDataType b_type, int b_leading, long long b_step,
    const void* beta, void* c, cudaDataType c_type, int c_leading, long long c_step, int count,
    cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
// The pointers lie in device memory.
HEED_EXPORT cublasStatus_t cublasGemmBatchedEx(
    cublasHandle_t handle, cublasOperation_t a_transposed, cublasOperation_t b_transposed, int m,
    int n, int k, const void* alpha, const void* const a[], cudaDataType a_type, int a_leading,
    const void* const b[], cudaDataType b_type, int b_leading, const void* beta, void* const c[],
    cudaDataType c_type, int c_leading, int count, cublasComputeType_t compute,
    cublasGemmAlgo_t algorithm);
