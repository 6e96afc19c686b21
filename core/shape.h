#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "core/export.h"

namespace heed {

// The sizes (or strides, in elements) of a tensor: up to eight 64-bit integers, held in place.
class HEED_EXPORT Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes);
  explicit Shape(std::span<const int64_t> sizes);
  static Shape filled(int rank, int64_t value);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int64_t operator[](int i) const { return sizes_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return sizes_[static_cast<size_t>(i)]; }
  // Counts from the end when negative: dim(-1) is the last.
  int64_t dim(int i) const { return (*this)[i < 0 ? i + rank_ : i]; }
  const int64_t* begin() const { return sizes_.data(); }
  const int64_t* end() const { return sizes_.data() + rank_; }
  bool operator==(const Shape& other) const {
    return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
  }

  int64_t numel() const;          // the product; 1 for rank 0
  Shape strides() const;          // row-major, in elements
  std::string to_string() const;  // "(2, 3)"

  void push_back(int64_t size);
  void insert(int position, int64_t size);
  void erase(int position);

 private:
  std::array<int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

// 0 <= result < rank for dim in [-rank, rank); throws Error "[tag] dimension 3 is out of range
// ...".
HEED_EXPORT int normalize_dim(std::string_view tag, int dim, int rank);

// The shape both broadcast to (sizes equal or 1, aligned at the right); throws Error naming both.
HEED_EXPORT Shape broadcast_shapes(std::string_view tag, const Shape& a, const Shape& b);

}  // namespace heed
