#include <cblas.h>

#include <algorithm>

#include "kernels/cuda/emulator/cublas_v2.h"
#include "kernels/cuda/emulator/emulator.h"

namespace {

CBLAS_TRANSPOSE operation(cublasOperation_t transposed) {
  return transposed == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

void gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, float alpha,
          const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasColMajor, operation(ta), operation(tb), m, n, k, alpha, a, lda, b, ldb, beta, c,
              ldc);
}
void gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, double alpha,
          const double* a, int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasColMajor, operation(ta), operation(tb), m, n, k, alpha, a, lda, b, ldb, beta, c,
              ldc);
}

bool valid(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, int lda, int ldb,
           int ldc, int count) {
  return m >= 0 && n >= 0 && k >= 0 && count >= 0 &&
         lda >= std::max(1, ta == CUBLAS_OP_N ? m : k) &&
         ldb >= std::max(1, tb == CUBLAS_OP_N ? k : n) && ldc >= std::max(1, m);
}

// a(i), b(i), c(i): the matrices of product i.
template <typename T, typename A, typename B, typename C>
cublasStatus_t products(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, T alpha,
                        int lda, int ldb, T beta, int ldc, int count, A a, B b, C c) {
  if (!valid(ta, tb, m, n, k, lda, ldb, ldc, count)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  {
    const heed::emulator::DeviceAccess access;
    openblas_set_num_threads(1);
    for (int i = 0; i < count; ++i) {
      gemm(ta, tb, m, n, k, alpha, a(i), lda, b(i), ldb, beta, c(i), ldc);
    }
  }
  heed::emulator::check_bounds();
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t strided(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                       const T* alpha, const T* a, int lda, long long a_step, const T* b, int ldb,
                       long long b_step, const T* beta, T* c, int ldc, long long c_step,
                       int count) {
  return products<T>(
      ta, tb, m, n, k, *alpha, lda, ldb, *beta, ldc, count, [=](int i) { return a + i * a_step; },
      [=](int i) { return b + i * b_step; }, [=](int i) { return c + i * c_step; });
}

template <typename T>
cublasStatus_t pointed(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                       const T* alpha, const T* const* a, int lda, const T* const* b, int ldb,
                       const T* beta, T* const* c, int ldc, int count) {
  return products<T>(
      ta, tb, m, n, k, *alpha, lda, ldb, *beta, ldc, count, [=](int i) { return a[i]; },
      [=](int i) { return b[i]; }, [=](int i) { return c[i]; });
}

}  // namespace

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "an argument is invalid";
}
cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb,
                                         int m, int n, int k, const float* alpha, const float* a,
                                         int lda, long long a_step, const float* b, int ldb,
                                         long long b_step, const float* beta, float* c, int ldc,
                                         long long c_step, int count) {
  return strided(ta, tb, m, n, k, alpha, a, lda, a_step, b, ldb, b_step, beta, c, ldc, c_step,
                 count);
}
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb,
                                         int m, int n, int k, const double* alpha, const double* a,
                                         int lda, long long a_step, const double* b, int ldb,
                                         long long b_step, const double* beta, double* c, int ldc,
                                         long long c_step, int count) {
  return strided(ta, tb, m, n, k, alpha, a, lda, a_step, b, ldb, b_step, beta, c, ldc, c_step,
                 count);
}
cublasStatus_t cublasSgemmBatched(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m,
                                  int n, int k, const float* alpha, const float* const a[], int lda,
                                  const float* const b[], int ldb, const float* beta,
                                  float* const c[], int ldc, int count) {
  return pointed(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count);
}
cublasStatus_t cublasDgemmBatched(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m,
                                  int n, int k, const double* alpha, const double* const a[],
                                  int lda, const double* const b[], int ldb, const double* beta,
                                  double* const c[], int ldc, int count) {
  return pointed(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count);
}
