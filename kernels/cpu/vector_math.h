#pragma once

#include <cstdint>
#include <string>

#include "core/random.h"

// Vectorised functions over dense arrays, by Google Highway with run-time dispatch. y may be x.
// Each exists for float and double; elements are within a few ulp in f32, within about 1e-15
// relative in f64, and sums are those of a vector's lanes in f32 or f64, of blocks in f64.
// NaN stays NaN; exp(-inf) = 0, tanh(+-inf) = +-1.
namespace heed::kernels::vector_math {

template <typename T>
void exp(const T* x, T* y, int64_t n);
template <typename T>
void log(const T* x, T* y, int64_t n);
template <typename T>
void tanh(const T* x, T* y, int64_t n);
template <typename T>
void sigmoid(const T* x, T* y, int64_t n);

// The largest of n > 0 values; NaN when one of them is.
template <typename T>
T largest_of(const T* x, int64_t n);
// The first i with x[i] > bound or NaN; n when there is none.
template <typename T>
int64_t first_above(const T* x, T bound, int64_t n);
// The sum of top - x.
template <typename T>
T sum_below(const T* x, T top, int64_t n);
// y = exp(x - shift); returns the sum.
template <typename T>
T exp_minus(const T* x, T shift, T* y, int64_t n);
// The sum of exp(x - shift), for when the terms are not wanted.
template <typename T>
T sum_exp_minus(const T* x, T shift, int64_t n);
// y = tanh(a + b)
template <typename T>
void tanh_of_sum(const T* a, const T* b, T* y, int64_t n);
// The sum of w * tanh(a + b).
template <typename T>
T dot_tanh_of_sum(const T* w, const T* a, const T* b, int64_t n);

// gelu, gelu_tanh and silu: x times a gate that opens from 0 to 1. -inf gives 0, inf gives inf.
enum class Gate : uint8_t { gelu, gelu_tanh, silu };
template <typename T>
void gated(Gate gate, const T* x, T* y, int64_t n);
// dx = dy * its derivative at x. dx may be x or dy.
template <typename T>
void gated_backward(Gate gate, const T* x, const T* dy, T* dx, int64_t n);

// Of a row of n elements: LayerNorm takes its mean off, RMSNorm does not.
enum class Centring : uint8_t { none, mean };
template <typename T>
struct RowNorm {
  T mean;  // must be 0 where none is taken off
  T rstd;
};
// y = (x - mean) rstd w + b; b may be null.
template <typename T>
RowNorm<T> normalize(Centring centring, T epsilon, const T* x, const T* w, const T* b, T* y,
                     int64_t n);
// Sets dx, adds to dw and db what is the row's; db may be null.
template <typename T>
void normalize_backward(Centring centring, const RowNorm<T>& norm, const T* x, const T* w,
                        const T* dy, T* dx, T* dw, T* db, int64_t n);

// y[i] = philox_uniform(random, i) >= p ? x[i] / (1 - p) : 0
template <typename T>
void dropout(const RandomState& random, double p, const T* x, T* y, int64_t n);

// y (rows, outputs) = x (rows, n) w^T, w (outputs, n), all dense but for y's leading dimension: for
// so few rows that reading w is the work.
template <typename T>
void few_rows(const T* x, int64_t rows, int64_t n, const T* w, int64_t outputs, T* y,
              int64_t y_leading);

// The instruction set in use: "AVX2", "AVX3", ...
std::string instruction_set();

}  // namespace heed::kernels::vector_math
