#include "nn/key_value_cache.h"

#include <algorithm>
#include <utility>

#include "autograd/autograd.h"
#include "core/error.h"
#include "kernels/backend.h"

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

// Memory like `like` for `count` rows: the first ones of `spare` where it is so.
Tensor room_for(int64_t count, const Tensor& like, const Tensor& spare) {
  Shape shape = like.shape();
  shape[0] = count;
  if (spare.defined() && spare.dim(0) >= count && spare.dim(positions) == shape[positions]) {
    return spare.as_strided(shape, spare.strides(), spare.offset());
  }
  return Tensor::empty(shape, like.dtype(), like.device());
}

// The filled part of each head of each row as a row of its own.
Tensor filled(const Tensor& memory, int64_t length) {
  const Shape& shape = memory.shape();
  return memory.as_strided({shape[0] * shape[1], length * shape[3]}, {shape[2] * shape[3], 1},
                           memory.offset());
}

void select_filled(Tensor& memory, Tensor& spare, int64_t length,
                   const std::vector<int32_t>& rows) {
  const int64_t heads = memory.dim(1);
  std::vector<int32_t> ids;
  for (const int32_t row : rows) {
    HEED_CHECK(row >= 0 && row < memory.dim(0), "cache", "there is no row {} among {}", row,
               memory.dim(0));
    for (int64_t head = 0; head < heads; ++head) {
      ids.push_back(static_cast<int32_t>(row * heads + head));
    }
  }
  Tensor selected = room_for(std::ssize(rows), memory, spare);
  kernels::backend(memory).gather_rows(filled(memory, length),
                                       Tensor::from_vector(ids, {std::ssize(ids)}, memory.device()),
                                       filled(selected, length));
  selected.bump_version();
  spare = std::exchange(memory, selected);
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
    select_filled(memory_.keys, spare_.keys, length_, rows);
    select_filled(memory_.values, spare_.values, length_, rows);
  }
}

}  // namespace heed::nn
