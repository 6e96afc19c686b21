#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

// Failures of CUDA, in words: what was called, where, and what CUDA says of it.
namespace heed::kernels::cuda {

[[noreturn]] void throw_failure(const char* reason, const char* call, const char* file, int line);

inline void check(cudaError_t result, const char* call, const char* file, int line) {
  if (result != cudaSuccess) [[unlikely]] {
    throw_failure(cudaGetErrorString(result), call, file, line);
  }
}
inline void check(cublasStatus_t result, const char* call, const char* file, int line) {
  if (result != CUBLAS_STATUS_SUCCESS) [[unlikely]] {
    throw_failure(cublasGetStatusString(result), call, file, line);
  }
}

}  // namespace heed::kernels::cuda

#define HEED_CUDA_CALL(call) ::heed::kernels::cuda::check((call), #call, __FILE__, __LINE__)
