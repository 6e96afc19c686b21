#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/op_cases/op_cases.h"
#include "core/random.h"

// How the rows of the table are written. Internal to op_cases.
namespace heed::cases {

using reference::Array;
using Tensors = std::vector<Tensor>;
using Arrays = std::vector<Array>;

// One input: what it looks like, and numbers for it.
struct Input {
  std::string text;
  std::function<Tensor(Generator&)> make;
};

Input real(const Shape& shape, double low = -2, double high = 2);
// Either sign, at least `least` away from zero.
Input off_zero(const Shape& shape, double least = 0.1, double most = 2);
Input boolean(const Shape& shape);
// These truth values.
Input mask(const std::vector<bool>& values, const Shape& shape);
Input ids(const Shape& shape, int64_t below);
Input fixed_ids(const std::vector<int32_t>& values, const Shape& shape);

using Reference = std::function<Arrays(const Arrays&)>;

// The variant is named after the inputs' shapes, with `note` in front.
OpCase make(const std::string& op, const std::string& note, const std::vector<Input>& inputs,
            GradcheckFunction function, Reference reference, const GradcheckOptions& options = {});

void add_elementwise(std::vector<OpCase>& cases);
void add_shape(std::vector<OpCase>& cases);
void add_network(std::vector<OpCase>& cases);
void add_attention(std::vector<OpCase>& cases);

}  // namespace heed::cases
