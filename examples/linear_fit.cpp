// Fits y = 2 x1 - 3 x2 + 1 by gradient descent: tensors, gradients, updates.
#include <fmt/core.h>

#include "autograd/functions.h"
#include "core/random.h"
#include "nn/layers.h"

int main() {
  using namespace heed;
  Generator generator(1);
  constexpr int64_t count = 64;
  std::vector<float> inputs;
  std::vector<float> targets;
  for (int64_t i = 0; i < count; ++i) {
    const auto x1 = static_cast<float>(generator.normal());
    const auto x2 = static_cast<float>(generator.normal());
    inputs.insert(inputs.end(), {x1, x2});
    targets.push_back(2 * x1 - 3 * x2 + 1);
  }
  const Tensor x = Tensor::from_vector(inputs, {count, 2});
  const Tensor y = Tensor::from_vector(targets, {count, 1});

  nn::Linear model(2, 1, generator);
  double loss_now = 0;
  for (int step = 0; step < 200; ++step) {
    const Tensor loss = mean(square(model.forward(x) - y));
    loss_now = loss.item();
    backward(loss);
    for (const auto& [name, parameter] : model.named_parameters()) {
      const NoGradScope no_grad;
      parameter.set_data(parameter.detach() - gradient(parameter) * 0.1);
    }
    model.clear_gradients();
  }
  fmt::print("weight {}  bias {}  loss {:.1e}\n", model.weight.to_string(), model.bias.to_string(),
             loss_now);
  return loss_now < 1e-9 ? 0 : 1;
}
