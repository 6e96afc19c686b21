#include "nn/mask.h"

#include "autograd/functions.h"
#include "core/error.h"
#include "nn/sequence.h"

namespace heed::nn {
namespace {

// Undefined means all.
Tensor both(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) {
    return a.defined() ? a : b;
  }
  broadcast_shapes("mask", a.shape(), b.shape());
  return logical_and(a, b);
}

}  // namespace

Mask Mask::causal() {
  Mask mask;
  mask.causal_ = true;
  return mask;
}

Mask Mask::padding(const std::vector<int64_t>& lengths, int64_t width) {
  Mask mask;
  mask.keys_ = padding_mask(lengths, width);
  if (mask.keys_.defined()) {
    mask.allowed_ = unsqueeze(unsqueeze(mask.keys_, 1), 1);
  }
  return mask;
}

Mask Mask::allowing(const Tensor& allowed) {
  HEED_CHECK(allowed.defined(), "mask", "the tensor is undefined");
  HEED_CHECK(allowed.dtype() == DType::boolean, "mask",
             "a mask is boolean (true = may attend), this one is {} {}",
             dtype_name(allowed.dtype()), allowed.shape().to_string());
  HEED_CHECK(allowed.rank() != 3 && allowed.rank() <= 4, "mask",
             "(S), (L, S) or four dimensions that broadcast to (B, H, L, S) are expected, not {}",
             allowed.shape().to_string());
  Mask mask;
  mask.allowed_ = allowed;
  return mask;
}

Mask Mask::operator&(const Mask& other) const {
  Mask joined;
  joined.causal_ = causal_ || other.causal_;
  joined.allowed_ = both(allowed_, other.allowed_);
  joined.keys_ = both(keys_, other.keys_);
  return joined;
}

Mask Mask::cleared() const {
  Mask mask = *this;
  mask.keys_ = Tensor();
  return mask;
}

Tensor Mask::clear_padding(const Tensor& x) const {
  if (!keys_.defined()) {
    return x;
  }
  HEED_CHECK(x.rank() == 3 && x.dim(0) == keys_.dim(0) && x.dim(1) == keys_.dim(1), "mask",
             "padding of {} rows of {} keys does not fit x {}", keys_.dim(0), keys_.dim(1),
             x.shape().to_string());
  return nn::clear_padding(x, keys_);
}

}  // namespace heed::nn
