#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

// A parameter, two states and the rule by hand, over a few steps with other gradients each.
struct Training {
  Tensor p, first, second;
  std::vector<double> p_by_hand, first_by_hand, second_by_hand;

  Training(int64_t count, DType dtype)
      : p(random_tensor({count}, dtype, 1)),
        first(Tensor::zeros({count}, dtype)),
        second(Tensor::zeros({count}, dtype)),
        p_by_hand(p.to_doubles()),
        first_by_hand(p_by_hand.size(), 0),
        second_by_hand(p_by_hand.size(), 0) {}
};

constexpr int steps = 5;
constexpr int64_t counts[] = {0, 1, 2, 13, 20'011};

Tensor gradient_of(int step, const Tensor& p) {
  return random_tensor(p.shape(), p.dtype(), 10 + static_cast<uint64_t>(step));
}

std::vector<Updated> one_of(const Training& training, const Tensor& gradient) {
  return {{training.p, gradient, training.first, training.second}};
}

Tensor scale_of(double value) { return Tensor::full({}, value, DType::f64); }

// Every number relative to its own size: the states may be small.
void expect_relative(const Tensor& actual, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> values = actual.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_LE(std::abs(values[i] - expected[i]), tolerance * (std::abs(expected[i]) + 1e-4))
        << "element " << i << " is " << values[i] << ", not " << expected[i];
  }
}

void expect_matches(const Training& training, double tolerance) {
  expect_same_numbers(training.p, training.p_by_hand, tolerance);
  expect_relative(training.first, training.first_by_hand, tolerance);
  expect_relative(training.second, training.second_by_hand, tolerance);
}

TEST(Sgd, MatchesTheFormula) {
  const std::pair<double, SgdStep> rules[] = {
      {1, {0.1, 0, 0}}, {-0.5, {0.1, 0.9, 0}}, {3, {0.05, 0.5, 0.2}}, {1, {0, 0.9, 0.2}}};
  for (const auto& [scale, rule] : rules) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const int64_t count : counts) {
        Training training(count, dtype);
        for (int step = 1; step <= steps; ++step) {
          const Tensor gradient = gradient_of(step, training.p);
          const std::vector<double> g = gradient.to_doubles();
          for (size_t i = 0; i < g.size(); ++i) {
            double& v = training.first_by_hand[i];
            v = rule.momentum * v + scale * g[i] + rule.weight_decay * training.p_by_hand[i];
            training.p_by_hand[i] -= rule.learning_rate * v;
          }
          tested().sgd_step(rule, scale_of(scale), one_of(training, gradient));
        }
        // A velocity is a sum of numbers of both signs.
        expect_same_numbers(training.p, training.p_by_hand, 4 * tolerance_of(dtype));
        expect_same_numbers(training.first, training.first_by_hand, 4 * tolerance_of(dtype));
      }
    }
  }
}

TEST(Adam, MatchesTheFormula) {
  for (const double decay : {0.0, 0.1}) {
    for (const bool decoupled : {false, true}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        for (const int64_t count : counts) {
          SCOPED_TRACE(testing::Message() << count << ", decay " << decay << " " << decoupled);
          Training training(count, dtype);
          const double scale = decoupled ? 0.25 : 1;
          AdamStep rule = {0.01, 0.9, 0.999, 1e-8, decay, decoupled, 0};
          for (int step = 1; step <= steps; ++step) {
            const Tensor gradient = gradient_of(step, training.p);
            const std::vector<double> gs = gradient.to_doubles();
            for (size_t i = 0; i < gs.size(); ++i) {
              double& p = training.p_by_hand[i];
              double& m = training.first_by_hand[i];
              double& v = training.second_by_hand[i];
              double g = scale * gs[i];
              if (decoupled) {
                p -= rule.learning_rate * decay * p;
              } else {
                g += decay * p;
              }
              m = 0.9 * m + (1 - 0.9) * g;
              v = 0.999 * v + (1 - 0.999) * g * g;
              const double m_hat = m / (1 - std::pow(0.9, step));
              const double v_hat = v / (1 - std::pow(0.999, step));
              p -= rule.learning_rate * m_hat / (std::sqrt(v_hat) + 1e-8);
            }
            rule.step = step;
            tested().adam_step(rule, scale_of(scale), one_of(training, gradient));
          }
          expect_same_numbers(training.p, training.p_by_hand, 4 * tolerance_of(dtype));
          expect_same_numbers(training.first, training.first_by_hand, 4 * tolerance_of(dtype));
          expect_relative(training.second, training.second_by_hand, 4 * tolerance_of(dtype));
        }
      }
    }
  }
}

// Epsilon stands beside the corrected root: with all of v_hat^0.5, m_hat and epsilon 2, half.
TEST(Adam, FirstStepByHand) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor p = from_doubles({1, 1, 1}, {3}, dtype);
    const Tensor g = from_doubles({2, -2, 0}, {3}, dtype);
    const Tensor m = Tensor::zeros({3}, dtype);
    const Tensor v = Tensor::zeros({3}, dtype);
    tested().adam_step({0.5, 0.9, 0.99, 2, 0.25, true, 1}, scale_of(1),
                       std::vector<Updated>{{p, g, m, v}});
    expect_same_numbers(p, {0.625, 1.125, 0.875}, tolerance_of(dtype));
    expect_same_numbers(m, {0.2, -0.2, 0}, tolerance_of(dtype));
    expect_same_numbers(v, {0.04, 0.04, 0}, tolerance_of(dtype));
  }
}

TEST(Adam, LateStepsNeedNoCorrection) {
  const Tensor p = from_doubles({1}, {1}, DType::f64);
  const Tensor m = from_doubles({3}, {1}, DType::f64);
  const Tensor v = from_doubles({4}, {1}, DType::f64);
  tested().adam_step({0.1, 0.5, 0.5, 0, 0, true, 1'000'000'000'000}, scale_of(1),
                     std::vector<Updated>{{p, from_doubles({1}, {1}, DType::f64), m, v}});
  expect_same_numbers(p, {1 - 0.1 * 2 / std::sqrt(2.5)}, 1e-14);
}

TEST(Adadelta, MatchesTheFormula) {
  const std::pair<double, AdadeltaStep> rules[] = {{1, {1, 0.95, 1e-6, 0}},
                                                   {0.25, {0.5, 0.9, 1e-6, 0.1}}};
  for (const auto& [scale, rule] : rules) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const int64_t count : counts) {
        Training training(count, dtype);
        for (int step = 1; step <= steps; ++step) {
          const Tensor gradient = gradient_of(step, training.p);
          const std::vector<double> gs = gradient.to_doubles();
          for (size_t i = 0; i < gs.size(); ++i) {
            double& squares = training.first_by_hand[i];
            double& moved = training.second_by_hand[i];
            const double g = scale * gs[i] + rule.weight_decay * training.p_by_hand[i];
            squares = rule.rho * squares + (1 - rule.rho) * g * g;
            const double delta =
                std::sqrt(moved + rule.epsilon) / std::sqrt(squares + rule.epsilon) * g;
            moved = rule.rho * moved + (1 - rule.rho) * delta * delta;
            training.p_by_hand[i] -= rule.learning_rate * delta;
          }
          tested().adadelta_step(rule, scale_of(scale), one_of(training, gradient));
        }
        expect_matches(training, 8 * tolerance_of(dtype));
      }
    }
  }
}

// More parameters than a launch on a device takes, of other sizes each, as if they came alone.
TEST(Optimizers, UpdateManyParametersInOneCall) {
  using Step = void (*)(std::span<const Updated>);
  for (const Step step :
       {Step([](std::span<const Updated> all) {
          tested().sgd_step({0.1, 0.9, 0.1}, scale_of(1), all);
        }),
        Step([](std::span<const Updated> all) {
          tested().adam_step({0.1, 0.9, 0.98, 1e-9, 0.1, true, 1}, scale_of(1), all);
        }),
        Step([](std::span<const Updated> all) {
          tested().adadelta_step({1, 0.95, 1e-6, 0.1}, scale_of(1), all);
        })}) {
    std::vector<Updated> together;
    std::vector<Updated> alone;
    for (int64_t i = 0; i < 67; ++i) {
      for (std::vector<Updated>* all : {&together, &alone}) {
        const Training training(i * 11 % 301, DType::f32);
        all->push_back(one_of(training, gradient_of(static_cast<int>(i), training.p)).front());
      }
      step({&alone.back(), 1});
      step({&alone.back(), 1});
    }
    step(together);
    step(together);
    for (size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(together[i].p.to_doubles(), alone[i].p.to_doubles()) << i;
      EXPECT_EQ(together[i].first.to_doubles(), alone[i].first.to_doubles()) << i;
      EXPECT_EQ(together[i].second.to_doubles(), alone[i].second.to_doubles()) << i;
    }
  }
}

TEST(Optimizers, LeaveEverythingForAScaleOfNaN) {
  Training training(1003, DType::f32);
  training.first = random_tensor({1003}, DType::f32, 2);
  training.second = random_tensor({1003}, DType::f32, 3, 0, 1);
  training.first_by_hand = training.first.to_doubles();
  training.second_by_hand = training.second.to_doubles();
  const Tensor nan = scale_of(NAN);
  tested().sgd_step({0.1, 0.9, 0.1}, nan, one_of(training, gradient_of(1, training.p)));
  tested().adam_step({0.1, 0.9, 0.98, 1e-9, 0.1, true, 1}, nan,
                     one_of(training, gradient_of(1, training.p)));
  tested().adadelta_step({1, 0.95, 1e-6, 0.1}, nan, one_of(training, gradient_of(1, training.p)));
  expect_matches(training, 0);
}

TEST(AddScalars, AddsInDouble) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor sums = from_doubles({1e9, 0, -1}, {3}, DType::f64);
    tested().add_scalars(std::vector{from_doubles({0.5}, {}, dtype), from_doubles({2}, {1}, dtype)},
                         sums);
    expect_same_numbers(sums, {1e9 + 0.5, 2, -1}, 0);
  }
}

TEST(GradientScale, MakesTheMeanAndClipsIt) {
  const Tensor squares = from_doubles({9, 7, 0, 9}, {4}, DType::f64);
  const Tensor losses = from_doubles({1, -2}, {2}, DType::f64);
  const Tensor scale = unset({1}, DType::f64);
  const Tensor norm = unset({1}, DType::f64);
  for (const auto& [clip, expected] : std::vector<std::pair<double, double>>{
           {0, 0.5}, {2.5, 0.5}, {3, 0.5}, {1.25, 0.25}, {1e-3, 0.5e-3 / 2.5}}) {
    tested().gradient_scale(squares, losses, 2, clip, scale, norm);
    expect_same_numbers(scale, {expected}, 1e-15);
    expect_same_numbers(norm, {2.5}, 1e-15);
  }
  // More of them than a block has threads.
  const Tensor many = Tensor::full({1000}, 4, DType::f64);
  tested().gradient_scale(many, losses, 1, 0, scale, norm);
  expect_same_numbers(norm, {std::sqrt(4000)}, 1e-15);
  tested().gradient_scale(unset({0}, DType::f64), losses, 4, 1, scale, norm);
  expect_same_numbers(scale, {0.25}, 0);
  expect_same_numbers(norm, {0}, 0);
}

TEST(GradientScale, IsNaNForWhatIsNotFinite) {
  const Tensor good = from_doubles({1, 2}, {2}, DType::f64);
  const Tensor scale = unset({1}, DType::f64);
  const Tensor norm = unset({1}, DType::f64);
  for (const double value : {static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    const Tensor bad = from_doubles({1, value}, {2}, DType::f64);
    tested().gradient_scale(bad, good, 1, 1, scale, norm);
    EXPECT_TRUE(std::isnan(scale.item()));
    EXPECT_FALSE(std::isfinite(norm.item()));
    tested().fill(scale, 0);
    tested().gradient_scale(good, bad, 1, 1, scale, norm);
    EXPECT_TRUE(std::isnan(scale.item()));
    expect_same_numbers(norm, {std::sqrt(3)}, 1e-15);
  }
}

TEST(Optimizers, DoNotDependOnTheThreads) {
  const auto after = [](const std::function<void(const Training&, const Tensor&)>& step) {
    return [step] {
      const Training training(300'007, DType::f32);
      step(training, gradient_of(1, training.p));
      return training.p;
    };
  };
  expect_same_for_any_threads(after([](const Training& training, const Tensor& g) {
    tested().sgd_step({0.1, 0.9, 0.1}, scale_of(1), one_of(training, g));
  }));
  expect_same_for_any_threads(after([](const Training& training, const Tensor& g) {
    tested().adam_step({0.1, 0.9, 0.98, 1e-9, 0.1, true, 1}, scale_of(1), one_of(training, g));
  }));
  expect_same_for_any_threads(after([](const Training& training, const Tensor& g) {
    tested().adadelta_step({1, 0.95, 1e-6, 0.1}, scale_of(1), one_of(training, g));
  }));
}

}  // namespace
}  // namespace heed::kernels::test
