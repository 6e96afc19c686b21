#pragma once

#include <cstdint>

#include "core/tensor.h"
#include "nn/module.h"

namespace heed::train {

// Ids from the first real token (4) on, i32, drawn from a stream of their own.
Tensor synthetic_ids(const Shape& shape, int64_t vocabulary, uint64_t stream);

// Weights of a module that take part in matrix products: its matrices, without tables that are only
// looked up. An embedding that is the output projection as well counts once.
int64_t product_weights(const nn::Module& module);

}  // namespace heed::train
