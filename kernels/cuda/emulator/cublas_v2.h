#pragma once

#include "kernels/cuda/emulator/cuda_runtime.h"

// The cuBLAS calls that heed makes, over OpenBLAS. Column-major, as there.

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_INVALID_VALUE = 7 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
using cublasHandle_t = struct EmulatedBlas*;

HEED_EXPORT const char* cublasGetStatusString(cublasStatus_t status);
HEED_EXPORT cublasStatus_t cublasCreate(cublasHandle_t* handle);
HEED_EXPORT cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);

HEED_EXPORT cublasStatus_t cublasSgemmStridedBatched(
    cublasHandle_t handle, cublasOperation_t a_transposed, cublasOperation_t b_transposed, int m,
    int n, int k, const float* alpha, const float* a, int a_leading, long long a_step,
    const float* b, int b_leading, long long b_step, const float* beta, float* c, int c_leading,
    long long c_step, int count);
HEED_EXPORT cublasStatus_t cublasDgemmStridedBatched(
    cublasHandle_t handle, cublasOperation_t a_transposed, cublasOperation_t b_transposed, int m,
    int n, int k, const double* alpha, const double* a, int a_leading, long long a_step,
    const double* b, int b_leading, long long b_step, const double* beta, double* c, int c_leading,
    long long c_step, int count);
// The pointers lie in device memory.
HEED_EXPORT cublasStatus_t cublasSgemmBatched(cublasHandle_t handle, cublasOperation_t a_transposed,
                                              cublasOperation_t b_transposed, int m, int n, int k,
                                              const float* alpha, const float* const a[],
                                              int a_leading, const float* const b[], int b_leading,
                                              const float* beta, float* const c[], int c_leading,
                                              int count);
HEED_EXPORT cublasStatus_t cublasDgemmBatched(cublasHandle_t handle, cublasOperation_t a_transposed,
                                              cublasOperation_t b_transposed, int m, int n, int k,
                                              const double* alpha, const double* const a[],
                                              int a_leading, const double* const b[], int b_leading,
                                              const double* beta, double* const c[], int c_leading,
                                              int count);
