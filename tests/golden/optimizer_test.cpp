#include "train/optimizer.h"

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "tests/golden/golden.h"

namespace heed::test {
namespace {

// Ten steps with the gradients of the file, at the rate 0.1 / step: the parameter after each.
Tensor path_of(const Golden& golden, const train::TrainConfig& config) {
  const Tensor parameter = golden.input("start").clone();
  set_requires_grad(parameter);
  const auto optimizer = train::make_optimizer(config, {{"w", parameter}});
  std::vector<Tensor> path;
  for (const Tensor& slope : unstack(golden.input("gradients").detach(), 0)) {
    clear_gradient(parameter);
    backward(sum(parameter * slope));
    optimizer->step(0.1 / static_cast<double>(path.size() + 1));
    path.push_back(parameter.clone());
  }
  return stack(path, 0);
}

TEST_P(Parity, Sgd) {
  const Golden golden = this->golden("optimizers");
  train::TrainConfig config;
  config.optimizer = "sgd";
  config.momentum = 0.9;
  config.weight_decay = 0.2;
  golden.expect_output("sgd", path_of(golden, config));
}

TEST_P(Parity, Adam) {
  const Golden golden = this->golden("optimizers");
  train::TrainConfig config;
  config.optimizer = "adam";
  config.epsilon = 1e-8;
  config.weight_decay = 0.2;
  golden.expect_output("adam", path_of(golden, config));
}

TEST_P(Parity, AdamW) {
  const Golden golden = this->golden("optimizers");
  train::TrainConfig config;
  config.optimizer = "adamw";
  config.beta2 = 0.98;
  config.epsilon = 1e-8;
  config.weight_decay = 0.2;
  golden.expect_output("adamw", path_of(golden, config));
}

TEST_P(Parity, Adadelta) {
  const Golden golden = this->golden("optimizers");
  train::TrainConfig config;
  config.optimizer = "adadelta";
  config.epsilon = 1e-6;
  config.weight_decay = 0.2;
  golden.expect_output("adadelta", path_of(golden, config));
}

}  // namespace
}  // namespace heed::test
