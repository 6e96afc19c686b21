#pragma once

#include "core/tensor.h"
#include "kernels/backend.h"

namespace heed::test {

// Element i of a dense tensor becomes `value`, wherever the tensor lies. Announces no change.
inline void set_element(const Tensor& x, int64_t i, double value) {
  kernels::backend(x).fill(x.as_strided({1}, {1}, x.offset() + i), value);
}

}  // namespace heed::test
