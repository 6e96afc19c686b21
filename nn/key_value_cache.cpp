#include "nn/key_value_cache.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "core/error.h"
#include "kernels/backend.h"
#include "nn/sequence.h"

namespace heed::nn {
namespace {

constexpr int64_t positions = 2;  // the dimension that counts them
constexpr int64_t first_capacity = 32;

Tensor part(const Tensor& memory, int64_t begin, int64_t end) {
  Shape shape = memory.shape();
  shape[positions] = end - begin;
  return memory.as_strided(shape, memory.strides(),
                           memory.offset() + begin * memory.strides()[positions]);
}

void write(const Tensor& memory, int64_t begin, const Tensor& further) {
  kernels::backend(memory).copy(further, part(memory, begin, begin + further.dim(positions)));
  memory.bump_version();
}

// Room for `wanted` positions, the first `length` of them as they were.
void reserve(Tensor& memory, const Tensor& further, int64_t length, int64_t wanted) {
  if (memory.defined() && wanted <= memory.dim(positions)) {
    return;
  }
  Shape shape = further.shape();
  shape[positions] =
      std::max(wanted, memory.defined() ? 2 * memory.dim(positions) : first_capacity);
  const Tensor larger = Tensor::empty(shape, further.dtype(), further.device());
  if (length > 0) {
    write(larger, 0, part(memory, 0, length));
  }
  memory = larger;
}

void append_to(Tensor& memory, int64_t length, const Tensor& further, const char* name) {
  HEED_CHECK(further.rank() == 4, "cache", "{} (B, H, n, D) are expected, not {}", name,
             further.shape().to_string());
  HEED_CHECK(!recording() || !requires_grad(further), "cache",
             "a cache keeps no graph: decode within a NoGradScope");
  if (memory.defined()) {
    HEED_CHECK(further.dim(0) == memory.dim(0) && further.dim(1) == memory.dim(1) &&
                   further.dim(3) == memory.dim(3),
               "cache", "further {} {} do not fit those of before, {}", name,
               further.shape().to_string(), part(memory, 0, length).shape().to_string());
  }
  reserve(memory, further, length, length + further.dim(positions));
  write(memory, length, further);
}

}  // namespace

KeysValues KeyValueCache::append(const KeysValues& further) {
  append_to(memory_.keys, length_, further.keys, "keys");
  append_to(memory_.values, length_, further.values, "values");
  length_ += further.keys.dim(positions);
  return {part(memory_.keys, 0, length_), part(memory_.values, 0, length_)};
}

void KeyValueCache::select(const std::vector<int32_t>& rows) {
  if (length_ > 0) {
    memory_ = {select_rows(memory_.keys, rows), select_rows(memory_.values, rows)};
  }
}

}  // namespace heed::nn
