#pragma once

#include "core/export.h"
#include "core/random.h"
#include "core/tensor.h"

// Elementwise functions. Two operands broadcast (sizes equal or 1, aligned at the right) and have
// one floating dtype and one device; the gradient is summed back over what was broadcast.
namespace heed {

HEED_EXPORT Tensor add(const Tensor& a, const Tensor& b);
HEED_EXPORT Tensor subtract(const Tensor& a, const Tensor& b);
HEED_EXPORT Tensor multiply(const Tensor& a, const Tensor& b);
HEED_EXPORT Tensor divide(const Tensor& a, const Tensor& b);
// The larger (smaller) one; of equals the gradient goes to a.
HEED_EXPORT Tensor maximum(const Tensor& a, const Tensor& b);
HEED_EXPORT Tensor minimum(const Tensor& a, const Tensor& b);
// scale * x + shift
HEED_EXPORT Tensor affine(const Tensor& x, double scale, double shift = 0);
// condition ? a : b; condition boolean, all three broadcast. Where b is chosen nothing of a,
// NaN included, reaches the result or its gradient, and the other way round.
HEED_EXPORT Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

HEED_EXPORT Tensor negate(const Tensor& x);
HEED_EXPORT Tensor absolute(const Tensor& x);
HEED_EXPORT Tensor square(const Tensor& x);
HEED_EXPORT Tensor square_root(const Tensor& x);
HEED_EXPORT Tensor exponential(const Tensor& x);
HEED_EXPORT Tensor logarithm(const Tensor& x);

HEED_EXPORT Tensor tanh(const Tensor& x);
HEED_EXPORT Tensor sigmoid(const Tensor& x);
HEED_EXPORT Tensor relu(const Tensor& x);       // max(x, 0); derivative 0 at 0
HEED_EXPORT Tensor gelu(const Tensor& x);       // x Phi(x), the erf form
HEED_EXPORT Tensor gelu_tanh(const Tensor& x);  // its tanh approximation
HEED_EXPORT Tensor silu(const Tensor& x);       // x sigmoid(x)

// Keeps an element with probability 1 - p and divides it by 1 - p (Srivastava et al. 2014,
// inverted); p in [0, 1). Numbers are set aside from the generator: same state, same mask.
HEED_EXPORT Tensor dropout(const Tensor& x, double p, Generator& generator = default_generator());

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
inline Tensor operator*(const Tensor& a, double scale) { return affine(a, scale); }
inline Tensor operator*(double scale, const Tensor& a) { return affine(a, scale); }
inline Tensor operator/(const Tensor& a, double divisor) { return affine(a, 1.0 / divisor); }
inline Tensor operator+(const Tensor& a, double shift) { return affine(a, 1.0, shift); }
inline Tensor operator-(const Tensor& a, double shift) { return affine(a, 1.0, -shift); }
inline Tensor operator-(double from, const Tensor& a) { return affine(a, -1.0, from); }
inline Tensor operator-(const Tensor& a) { return negate(a); }

// Not differentiable: no gradient passes a comparison. Results are boolean.
HEED_EXPORT Tensor equal(const Tensor& a, const Tensor& b);
HEED_EXPORT Tensor not_equal(const Tensor& a, const Tensor& b);
HEED_EXPORT Tensor less(const Tensor& a, const Tensor& b);
HEED_EXPORT Tensor less_equal(const Tensor& a, const Tensor& b);
// Of booleans.
HEED_EXPORT Tensor logical_and(const Tensor& a, const Tensor& b);

}  // namespace heed
