// A layer of one's own with a hand-written backward, checked by finite differences:
// the "swish with a learned slope" y = x sigmoid(b x), b a parameter of one element.
#include <fmt/core.h>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "core/random.h"

namespace {

using namespace heed;

// Forward by other functions without recording; then record() says how to go back:
// with s = sigmoid(b x): dy/dx = s + b x s (1 - s), dy/db = sum of x^2 s (1 - s).
Tensor swish(const Tensor& x, const Tensor& b) {
  Tensor s;
  Tensor y;
  {
    const NoGradScope no_grad;
    s = sigmoid(x.detach() * b.detach());
    y = x.detach() * s;
  }
  return record("swish", {x, b}, y,
                [x = Saved(x), b = Saved(b), s = Saved(s)](const BackwardContext& context) {
                  const Tensor& gate = context.get(s);
                  const Tensor& input = context.get(x);
                  const Tensor slope = gate * (1.0 - gate);
                  const Tensor& g = context.cotangent();
                  return Gradients{g * (gate + context.get(b) * input * slope),
                                   reshape(sum(g * square(input) * slope), {1})};
                });
}

}  // namespace

int main() {
  Generator generator(7);
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) {
    values.push_back(generator.normal());
  }
  const Tensor x = Tensor::from_vector(values, {3, 4});
  const Tensor b = Tensor::from_vector(std::vector<double>{1.5}, {1});
  const GradcheckResult result = gradcheck(
      [](const std::vector<Tensor>& inputs) {
        return std::vector<Tensor>{swish(inputs[0], inputs[1])};
      },
      {x, b});
  fmt::print("{} derivatives, worst error {:.1e}: {}\n", result.checked, result.worst_error,
             result.passed() ? "passed" : result.message);
  return result.passed() ? 0 : 1;
}
