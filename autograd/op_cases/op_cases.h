#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/op_cases/reference.h"
#include "core/export.h"
#include "core/tensor.h"

// One table of every differentiable function, each with the shapes that tell its branches apart:
// sizes 0, 1 and primes, all broadcasts, masks, paddings. What walks it: values against the
// reference, gradcheck, layouts, fused against composed, devices, `heed gradcheck`. A new function
// needs one entry here; a test names those recorded without one.
namespace heed {

struct OpCase {
  std::string op;       // the name it is recorded under
  std::string variant;  // "a (2, 1), b (3)"
  // f64, boolean and i32; the same seed gives the same numbers.
  std::function<std::vector<Tensor>(uint64_t seed)> inputs;
  // Every output is differentiable in every floating input.
  GradcheckFunction function;
  // The same function in plain loops.
  std::function<std::vector<reference::Array>(const std::vector<reference::Array>& inputs)>
      reference;
  GradcheckOptions options = {};
};

HEED_EXPORT const std::vector<OpCase>& op_cases();

// A call that must be refused, and with which words.
struct ErrorCase {
  std::string op;
  std::function<void()> call;
  std::string message;
};

HEED_EXPORT const std::vector<ErrorCase>& error_cases();

}  // namespace heed
