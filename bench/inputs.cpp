#include "bench/inputs.h"

#include "core/random.h"

namespace heed::bench {

Tensor random(const Shape& shape) {
  const Tensor x = Tensor::empty(shape);
  const RandomState state{.seed = 1};
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data<float>()[i] = 2 * philox_uniform(state, static_cast<uint64_t>(i)) - 1;
  }
  return x;
}

}  // namespace heed::bench
