#include "core/shape.h"

#include "core/error.h"

namespace heed {

Shape::Shape(std::initializer_list<int64_t> sizes)
    : Shape(std::span<const int64_t>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const int64_t> sizes) {
  for (const int64_t size : sizes) {
    push_back(size);
  }
}

Shape Shape::filled(int rank, int64_t value) {
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    shape.push_back(value);
  }
  return shape;
}

int64_t Shape::numel() const {
  int64_t count = 1;
  for (const int64_t size : *this) {
    HEED_CHECK(!__builtin_mul_overflow(count, size, &count), "shape",
               "{} has more elements than 64 bits count", to_string());
  }
  return count;
}

Shape Shape::strides() const {
  Shape result = *this;
  int64_t step = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    result[i] = step;
    HEED_CHECK(!__builtin_mul_overflow(step, std::max<int64_t>((*this)[i], 1), &step), "shape",
               "{} has more elements than 64 bits count", to_string());
  }
  return result;
}

std::string Shape::to_string() const {
  std::string text = "(";
  for (int i = 0; i < rank_; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", (*this)[i]);
  }
  return text + ")";
}

void Shape::push_back(int64_t size) { insert(rank_, size); }

void Shape::insert(int position, int64_t size) {
  HEED_CHECK(rank_ < max_rank, "shape", "more than {} dimensions", max_rank);
  const auto at = sizes_.begin() + position;
  std::copy_backward(at, sizes_.begin() + rank_, sizes_.begin() + rank_ + 1);
  *at = size;
  ++rank_;
}

void Shape::erase(int position) {
  const auto at = sizes_.begin() + position;
  std::copy(at + 1, sizes_.begin() + rank_, at);
  --rank_;
}

int normalize_dim(std::string_view tag, int dim, int rank) {
  HEED_CHECK(dim >= -rank && dim < rank, tag, "dimension {} is out of range for {} dimensions", dim,
             rank);
  return dim < 0 ? dim + rank : dim;
}

Shape broadcast_shapes(std::string_view tag, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result = Shape::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t left = i <= a.rank() ? a.dim(-i) : 1;
    const int64_t right = i <= b.rank() ? b.dim(-i) : 1;
    HEED_CHECK(left == right || left == 1 || right == 1, tag, "shapes do not broadcast: {} and {}",
               a.to_string(), b.to_string());
    result[rank - i] = left == 1 ? right : left;
  }
  return result;
}

}  // namespace heed
