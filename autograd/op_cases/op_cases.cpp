#include "autograd/op_cases/op_cases.h"

#include "autograd/op_cases/cases.h"

namespace heed {
namespace cases {
namespace {

template <typename T, typename F>
Input filled(std::string text, const Shape& shape, F draw) {
  return {std::move(text) + shape.to_string(), [shape, draw](Generator& generator) {
            std::vector<T> values;
            for (int64_t i = 0; i < shape.numel(); ++i) {
              values.push_back(draw(generator));
            }
            return Tensor::from_vector(values, shape);
          }};
}

}  // namespace

Input real(const Shape& shape, double low, double high) {
  return filled<double>("", shape, [low, high](Generator& generator) {
    return low + (high - low) * generator.uniform();
  });
}

Input off_zero(const Shape& shape, double least, double most) {
  return filled<double>("", shape, [least, most](Generator& generator) {
    const double size = least + (most - least) * generator.uniform();
    return generator.below(2) == 0 ? size : -size;
  });
}

Input boolean(const Shape& shape) {
  return filled<bool>("mask ", shape, [](Generator& generator) { return generator.below(3) != 0; });
}

Input mask(const std::vector<bool>& values, const Shape& shape) {
  return {"mask " + shape.to_string(),
          [values, shape](Generator&) { return Tensor::from_vector(values, shape); }};
}

Input ids(const Shape& shape, int64_t below) {
  return filled<int32_t>("ids ", shape, [below](Generator& generator) {
    return static_cast<int32_t>(generator.below(static_cast<uint64_t>(below)));
  });
}

Input fixed_ids(const std::vector<int32_t>& values, const Shape& shape) {
  return {"ids " + shape.to_string(),
          [values, shape](Generator&) { return Tensor::from_vector(values, shape); }};
}

OpCase make(const std::string& op, const std::string& note, const std::vector<Input>& inputs,
            GradcheckFunction function, Reference reference, const GradcheckOptions& options) {
  std::string variant = note;
  for (const Input& input : inputs) {
    variant += (variant.empty() ? "" : ", ") + input.text;
  }
  const auto draw = [inputs](uint64_t seed) {
    Generator generator(seed);
    Tensors tensors;
    for (const Input& input : inputs) {
      tensors.push_back(input.make(generator));
    }
    return tensors;
  };
  return {op, variant, draw, std::move(function), std::move(reference), options};
}

}  // namespace cases

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> table = [] {
    std::vector<OpCase> all;
    cases::add_elementwise(all);
    cases::add_shape(all);
    cases::add_network(all);
    cases::add_attention(all);
    return all;
  }();
  return table;
}

}  // namespace heed
