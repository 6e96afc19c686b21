#pragma once

#include <vector>

#include "core/shape.h"
#include "core/tensor.h"

// What the references of op cases are written with: arrays of doubles and plain loops, no kernels.
namespace heed::reference {

struct Array {
  Shape shape;
  std::vector<double> values;  // row-major

  // The element at `index`, repeated where the shape has size 1 or fewer dimensions.
  double at(const Shape& index) const {
    int64_t position = 0;
    for (int d = 0; d < shape.rank(); ++d) {
      const int64_t i = index[index.rank() - shape.rank() + d];
      position = position * shape[d] + (shape[d] == 1 ? 0 : i);
    }
    return values[static_cast<size_t>(position)];
  }
};

inline Array array_of(const Tensor& tensor) { return {tensor.shape(), tensor.to_doubles()}; }

template <typename F>
void for_each_index(const Shape& shape, F&& f) {
  Shape index = Shape::filled(shape.rank(), 0);
  for (int64_t count = shape.numel(); count > 0; --count) {
    f(static_cast<const Shape&>(index));
    for (int d = shape.rank() - 1; d >= 0 && ++index[d] == shape[d]; --d) {
      index[d] = 0;
    }
  }
}

// The array whose element at each index is f(index).
template <typename F>
Array build(const Shape& shape, F&& f) {
  Array array{shape, {}};
  for_each_index(shape, [&](const Shape& index) { array.values.push_back(f(index)); });
  return array;
}

inline Shape with(Shape index, int dim, int64_t value) {
  index[dim < 0 ? dim + index.rank() : dim] = value;
  return index;
}
inline Shape inserted(Shape index, int dim, int64_t value) {
  index.insert(dim < 0 ? dim + index.rank() + 1 : dim, value);
  return index;
}
inline Shape erased(Shape index, int dim) {
  index.erase(dim < 0 ? dim + index.rank() : dim);
  return index;
}

}  // namespace heed::reference
