#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/error.h"
#include "core/tensor.h"

namespace heed::kernels {

// How to walk operands of equal shape and any strides: adjacent dimensions that lie the same way in
// every operand are merged, so that most calls come down to one long inner loop.
template <size_t N>
struct Loop {
  Shape shape;
  std::array<Shape, N> strides;

  explicit Loop(const std::array<const Tensor*, N>& operands) : shape(operands[0]->shape()) {
    for (size_t k = 0; k < N; ++k) {
      HEED_ASSERT(operands[k]->shape() == shape, "{} and {}", operands[k]->shape().to_string(),
                  shape.to_string());
      strides[k] = operands[k]->strides();
    }
    merge();
  }

  Loop(const Shape& sizes, const std::array<Shape, N>& all_strides)
      : shape(sizes), strides(all_strides) {
    merge();
  }

  int64_t inner() const { return shape.rank() == 0 ? 1 : shape.dim(-1); }
  int64_t outer() const {
    int64_t count = 1;
    for (int d = 0; d + 1 < shape.rank(); ++d) {
      count *= shape[d];
    }
    return count;
  }
  int64_t inner_stride(size_t k) const { return shape.rank() == 0 ? 0 : strides[k].dim(-1); }

  // Makes dimension d the last. The order of the dimensions is a matter of speed alone.
  void move_to_end(int d) {
    const auto move = [d](Shape& s) {
      const int64_t size = s[d];
      s.erase(d);
      s.push_back(size);
    };
    move(shape);
    std::for_each(strides.begin(), strides.end(), move);
  }

  // Element offset of inner row `row` in operand k.
  int64_t offset(size_t k, int64_t row) const {
    int64_t result = 0;
    for (int d = shape.rank() - 2; d >= 0; --d) {
      result += row % shape[d] * strides[k][d];
      row /= shape[d];
    }
    return result;
  }

 private:
  void merge() {
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (shape[d] == 1) {
        erase(d);
      }
    }
    for (int d = shape.rank() - 2; d >= 0; --d) {
      bool adjacent = true;
      for (size_t k = 0; k < N; ++k) {
        adjacent = adjacent && strides[k][d] == strides[k][d + 1] * shape[d + 1];
      }
      if (adjacent) {
        shape[d + 1] *= shape[d];
        erase(d);
      }
    }
  }
  void erase(int d) {
    shape.erase(d);
    for (Shape& s : strides) {
      s.erase(d);
    }
  }
};

}  // namespace heed::kernels
