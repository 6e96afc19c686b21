#include "nn/sequence.h"

#include "autograd/functions.h"
#include "core/error.h"

namespace heed::nn {

Tensor padding_mask(const std::vector<int64_t>& lengths, int64_t width) {
  std::vector<bool> mask;
  bool padded = false;
  for (const int64_t length : lengths) {
    HEED_CHECK(length >= 0 && length <= width, "padding_mask", "length {} is not within 0 .. {}",
               length, width);
    padded = padded || length < width;
    for (int64_t t = 0; t < width; ++t) {
      mask.push_back(t < length);
    }
  }
  return padded ? Tensor::from_vector(mask, {static_cast<int64_t>(lengths.size()), width})
                : Tensor();
}

Tensor clear_padding(const Tensor& x, const Tensor& mask) {
  return mask.defined() ? where(unsqueeze(mask, -1), x, Tensor::zeros({}, x.dtype(), x.device()))
                        : x;
}

Tensor select_rows(const Tensor& x, const std::vector<int32_t>& rows) {
  if (!x.defined()) {
    return x;
  }
  const auto count = static_cast<int64_t>(rows.size());
  Shape shape = x.shape();
  shape[0] = 1;
  const Tensor table = reshape(x, {x.dim(0), shape.numel()});
  const Tensor picked = embedding(Tensor::from_vector(rows, {count}), table);
  shape[0] = count;
  return reshape(picked, shape);
}

}  // namespace heed::nn
