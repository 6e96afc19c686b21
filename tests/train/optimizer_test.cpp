#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_close.h"

namespace heed::train {
namespace {

using test::close;
using Values = std::vector<double>;

constexpr int steps = 5;
const Values start = {0.5, -1.25, 2.0, 0.0};

// The gradient at step t, counted from 1.
Values gradient_at(int t) { return {0.3 * t, -1.0 / t, t % 2 == 0 ? 0.0 : 2.0, 1e-3}; }

NamedTensor variable(const std::string& name, const Values& values) {
  const Tensor tensor = Tensor::from_vector(values, {static_cast<int64_t>(values.size())});
  set_requires_grad(tensor);
  return {name, tensor};
}

// Gives the parameter this gradient: that of its inner product with it.
void give_gradient(const NamedTensor& parameter, const Values& values) {
  clear_gradient(parameter.tensor);
  const Tensor weights = Tensor::from_vector(values, {static_cast<int64_t>(values.size())});
  backward(sum(multiply(parameter.tensor, weights)));
}

double rate_at(int t) { return 0.1 / t; }  // it moves, as schedules move it

// Trains by heed and by a formula for one element: next(x, g, t) at each step.
void expect_steps(const TrainConfig& config,
                  const std::function<std::function<double(double, double, int)>()>& formula) {
  const NamedTensor parameter = variable("w", start);
  const auto optimizer = make_optimizer(config, {parameter});
  std::vector<std::function<double(double, double, int)>> next;
  for (size_t i = 0; i < start.size(); ++i) {
    next.push_back(formula());
  }
  Values expected = start;
  for (int t = 1; t <= steps; ++t) {
    const Values slope = gradient_at(t);
    give_gradient(parameter, slope);
    optimizer->step(rate_at(t));
    for (size_t i = 0; i < start.size(); ++i) {
      expected[i] = next[i](expected[i], slope[i], t);
    }
    EXPECT_TRUE(close(parameter.tensor.to_doubles(), expected, 1e-12)) << "step " << t;
  }
  EXPECT_EQ(optimizer->steps(), steps);
}

TrainConfig with(const std::string& optimizer) {
  TrainConfig config;
  config.optimizer = optimizer;
  config.epsilon = 1e-3;  // large, so that its place in the formula shows
  config.weight_decay = 0.2;
  return config;
}

TEST(Optimizer, Sgd) {
  TrainConfig config = with("sgd");
  config.momentum = 0.9;
  expect_steps(config, [] {
    return [v = 0.0](double x, double g, int t) mutable {
      v = 0.9 * v + (g + 0.2 * x);
      return x - rate_at(t) * v;
    };
  });
  config.momentum = 0;
  config.weight_decay = 0;
  expect_steps(config, [] { return [](double x, double g, int t) { return x - rate_at(t) * g; }; });
}

// Kingma and Ba 2015, algorithm 1.
double adam_move(double& m, double& v, double g, int t) {
  m = 0.8 * m + 0.2 * g;
  v = 0.95 * v + 0.05 * g * g;
  return rate_at(t) * (m / (1 - std::pow(0.8, t))) /
         (std::sqrt(v / (1 - std::pow(0.95, t))) + 1e-3);
}

TEST(Optimizer, Adam) {
  TrainConfig config = with("adam");
  config.beta1 = 0.8;
  config.beta2 = 0.95;
  expect_steps(config, [] {
    return [m = 0.0, v = 0.0](double x, double g, int t) mutable {
      return x - adam_move(m, v, g + 0.2 * x, t);
    };
  });
}

// Loshchilov and Hutter 2019: the decay stands apart from the moments.
TEST(Optimizer, AdamW) {
  TrainConfig config = with("adamw");
  config.beta1 = 0.8;
  config.beta2 = 0.95;
  expect_steps(config, [] {
    return [m = 0.0, v = 0.0](double x, double g, int t) mutable {
      return x - rate_at(t) * 0.2 * x - adam_move(m, v, g, t);
    };
  });
}

// Zeiler 2012, algorithm 1.
TEST(Optimizer, Adadelta) {
  TrainConfig config = with("adadelta");
  config.rho = 0.9;
  expect_steps(config, [] {
    return [squares = 0.0, moves = 0.0](double x, double g, int t) mutable {
      g += 0.2 * x;
      squares = 0.9 * squares + 0.1 * g * g;
      const double move = std::sqrt(moves + 1e-3) / std::sqrt(squares + 1e-3) * g;
      moves = 0.9 * moves + 0.1 * move * move;
      return x - rate_at(t) * move;
    };
  });
}

TEST(Optimizer, DecaysMatricesAlone) {
  TrainConfig config = with("adamw");
  config.decay_vectors = false;
  const NamedTensor vector = variable("bias", {1, 2});
  const NamedTensor matrix = {"weight", Tensor::from_vector<double>({1, 2}, {1, 2})};
  set_requires_grad(matrix.tensor);
  const auto optimizer = make_optimizer(config, {vector, matrix});
  backward(sum(vector.tensor) * 0.0 + sum(matrix.tensor) * 0.0);
  optimizer->step(0.5);
  EXPECT_TRUE(close(vector.tensor.to_doubles(), {1, 2}, 1e-12));
  EXPECT_TRUE(close(matrix.tensor.to_doubles(), {0.9, 1.8}, 1e-12));
}

TEST(Optimizer, LeavesParametersWithoutAGradientAlone) {
  for (const char* name : {"sgd", "adam", "adamw", "adadelta"}) {
    const NamedTensor used = variable("used", {1, 2});
    const NamedTensor unused = variable("unused", {3, 4});
    const auto optimizer = make_optimizer(with(name), {used, unused});
    give_gradient(used, {1, 1});
    optimizer->step(0.1);
    EXPECT_NE(used.tensor.to_doubles(), (Values{1, 2})) << name;
    EXPECT_EQ(unused.tensor.to_doubles(), (Values{3, 4})) << name;
  }
}

// What a saved state continues with is what would have come without the break.
TEST(Optimizer, StateGoesOnExactly) {
  for (const char* name : {"sgd", "adam", "adamw", "adadelta"}) {
    TrainConfig config = with(name);
    config.momentum = 0.9;
    const NamedTensor straight = variable("w", start);
    const auto first = make_optimizer(config, {straight});
    for (int t = 1; t <= 3; ++t) {
      give_gradient(straight, gradient_at(t));
      first->step(rate_at(t));
    }
    TensorFile file;
    for (const NamedTensor& entry : first->state()) {
      file.tensors.push_back({entry.name, entry.tensor.clone()});
    }
    const NamedTensor resumed = variable("w", straight.tensor.to_doubles());
    const auto second = make_optimizer(config, {resumed});
    second->load_state(file, first->steps());
    for (int t = 4; t <= steps; ++t) {
      give_gradient(straight, gradient_at(t));
      first->step(rate_at(t));
      give_gradient(resumed, gradient_at(t));
      second->step(rate_at(t));
    }
    EXPECT_EQ(resumed.tensor.to_doubles(), straight.tensor.to_doubles()) << name;
  }
}

std::string refusal(Optimizer& optimizer, const TensorFile& file) {
  return test::error_of<InputError>([&] { optimizer.load_state(file, 1); });
}

TEST(Optimizer, RefusesAStateThatDoesNotFit) {
  const auto optimizer = make_optimizer(with("sgd"), {variable("w", start)});
  EXPECT_EQ(refusal(*optimizer, {}), "[safetensors] there is no tensor 'velocity/w'");
  EXPECT_EQ(refusal(*optimizer, {{{"velocity/w", Tensor::zeros({3}, DType::f64)}}, {}}),
            "[optimizer] the saved state velocity/w does not fit: f64 (3), f64 (4) is expected");
  EXPECT_EQ(refusal(*optimizer, {{{"velocity/w", Tensor::zeros({4}, DType::f32)}}, {}}),
            "[optimizer] the saved state velocity/w does not fit: f32 (4), f64 (4) is expected");
}

TEST(Optimizer, GradientsAreScaledOnTheWay) {
  for (const char* name : {"sgd", "adam", "adamw", "adadelta"}) {
    const NamedTensor scaled = variable("w", start), plain = variable("w", start);
    const auto by_scaled = make_optimizer(with(name), {scaled});
    const auto by_plain = make_optimizer(with(name), {plain});
    for (int t = 1; t <= steps; ++t) {
      Values slope = gradient_at(t);
      give_gradient(scaled, slope);
      for (double& one : slope) {
        one *= -0.5;
      }
      give_gradient(plain, slope);
      by_scaled->step(rate_at(t), Tensor::full({}, -0.5, DType::f64));
      by_plain->step(rate_at(t));
    }
    EXPECT_EQ(scaled.tensor.to_doubles(), plain.tensor.to_doubles()) << name;
  }
}

}  // namespace
}  // namespace heed::train
