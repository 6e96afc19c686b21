#include "train/update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "autograd/functions.h"
#include "core/interrupt.h"
#include "core/logging.h"
#include "tests/support/error_of.h"

namespace heed::train {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Weights : nn::Module {
  Tensor first = register_parameter("first", Tensor::from_vector<double>({1, 2}, {2}));
  Tensor second = register_parameter("second", Tensor::from_vector<double>({3}, {1}));
};

// Whatever a test takes for the loss of a batch.
class AnyTask : public Task {
 public:
  explicit AnyTask(std::function<BatchLoss(const Weights&, int64_t)> loss)
      : loss_(std::move(loss)) {}
  Weights& module() override { return weights_; }
  Checkpoint checkpoint() const override { return {}; }
  int64_t plan_epoch(Generator&) override { return 10; }
  BatchLoss loss(int64_t batch) override { return loss_(weights_, batch); }
  bool has_validation() const override { return false; }
  Validation validate() override { return {}; }

 private:
  Weights weights_;
  std::function<BatchLoss(const Weights&, int64_t)> loss_;
};

Tensor no_nll() { return Tensor::zeros({}, DType::f64); }

BatchLoss scaled(const Weights& weights, double factor, int64_t tokens) {
  return {sum(weights.first * factor) + sum(weights.second), Tensor::full({}, factor, DType::f64),
          tokens};
}

TrainConfig plain(int64_t accumulate) {
  TrainConfig config;
  config.optimizer = "sgd";
  config.clip_norm = 0;
  config.accumulate = accumulate;
  return config;
}

TEST(UpdaterStops, BetweenBatchesWithAllAsBefore) {
  bool asked = false;
  AnyTask task([&asked](const Weights& weights, int64_t batch) {
    static_cast<void>(default_generator().next_u32());
    if (batch == 4 && !std::exchange(asked, true)) {
      request_stop();
    }
    return scaled(weights, 1, 2);
  });
  Updater updater(plain(3), task);
  TrainingState state;
  state.step = 1;
  state.position = 3;
  const RandomState dropout = default_generator().state();
  EXPECT_THROW(updater.update(state, 10, 0.1), Stopped);
  EXPECT_EQ(state.step, 1);
  EXPECT_EQ(state.position, 3);
  EXPECT_EQ(default_generator().state(), dropout);
  EXPECT_FALSE(gradient(task.module().first).defined());
  EXPECT_EQ(task.module().first.to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_FALSE(updater.update(state, 10, 0.1).has_value());
  EXPECT_TRUE(updater.settle(state)->applied());
  EXPECT_EQ(state.position, 6);
}

// The outcome of an update is told by the next one, whose batches are summed by then.
TEST(UpdaterOutcome, ComesAnUpdateLater) {
  int64_t batches = 0;
  AnyTask task([&batches](const Weights& weights, int64_t) {
    ++batches;
    return scaled(weights, static_cast<double>(batches), 2);
  });
  Updater updater(plain(2), task);
  TrainingState state;
  EXPECT_FALSE(updater.settle(state).has_value());
  EXPECT_FALSE(updater.update(state, 10, 0.5).has_value());
  const Updater::Outcome first = updater.update(state, 10, 0.25).value();
  EXPECT_EQ(batches, 4);
  EXPECT_EQ(first.step, 1);
  EXPECT_EQ(first.learning_rate, 0.5);
  EXPECT_EQ(first.tokens, 4);
  EXPECT_EQ(updater.tokens_under_way(), 4);
  EXPECT_EQ(first.numbers.nll, 1 + 2);
  EXPECT_EQ(first.numbers.loss, 3 * (1 + 2) + 2 * 3);  // of the first weights: 1, 2 and 3
  EXPECT_EQ(first.numbers.gradient_norm, std::sqrt(3.0 * 3 + 3 * 3 + 2 * 2) / 4);
  const Updater::Outcome second = updater.settle(state).value();
  EXPECT_EQ(second.numbers.nll, 3 + 4);
  EXPECT_FALSE(updater.settle(state).has_value());
  EXPECT_EQ(updater.tokens_under_way(), 0);
}

TEST(UpdaterOutcome, OfAnUpdateThatWasClipped) {
  AnyTask task([](const Weights& weights, int64_t) { return scaled(weights, 3, 2); });
  TrainConfig config = plain(1);
  config.clip_norm = 0.5;
  Updater updater(config, task);
  TrainingState state;
  updater.update(state, 10, 1);
  const double norm = std::sqrt(3.0 * 3 + 3 * 3 + 1) / 2;
  EXPECT_DOUBLE_EQ(updater.settle(state)->numbers.gradient_norm, norm);
  EXPECT_DOUBLE_EQ(task.module().second.to_doubles().front(), 3 - 0.5 * 0.5 / norm);
}

// A device that was given a bad update among good ones leaves it out, states and all.
TEST(UpdaterNotFinite, LeavesNothingInTheWeightsOrTheOptimizer) {
  for (const std::string optimizer : {"sgd", "adam", "adamw", "adadelta"}) {
    std::vector<std::vector<double>> weights;
    for (const int64_t bad : {-1, 2}) {
      AnyTask task([bad](const Weights& given, int64_t batch) {
        return scaled(given, batch == bad ? infinity : 2, 1);
      });
      TrainConfig config = plain(1);
      config.optimizer = optimizer;
      config.epsilon = 1e-6;
      config.momentum = 0.9;
      config.nonfinite = "skip";
      Updater updater(config, task);
      TrainingState state;
      testing::internal::CaptureStderr();
      for (int i = 0; i < (bad < 0 ? 4 : 5); ++i) {
        updater.update(state, 10, 0.1);
      }
      updater.settle(state);
      testing::internal::GetCapturedStderr();
      EXPECT_EQ(updater.optimizer().steps(), 4);
      weights.push_back(task.module().first.to_doubles());
    }
    EXPECT_EQ(weights[0], weights[1]) << optimizer;
    EXPECT_NE(weights[0], (std::vector<double>{1, 2})) << optimizer;
  }
}

// The update that would have come after the bad one is as if it had not been begun.
TEST(UpdaterNotFinite, StopsWithAllAsBeforeTheNextUpdate) {
  AnyTask task([](const Weights& weights, int64_t batch) {
    static_cast<void>(default_generator().next_u32());
    return scaled(weights, batch == 1 ? infinity : 1, 1);
  });
  Updater updater(plain(1), task);
  TrainingState state;
  updater.update(state, 10, 0.1);
  updater.update(state, 10, 0.1);
  const std::vector<double> weights = task.module().first.to_doubles();
  const RandomState dropout = default_generator().state();
  EXPECT_EQ(test::error_of([&] { updater.update(state, 10, 0.1); }),
            "[train] step 2: the loss is not finite; the first parameter with such a gradient is "
            "first; the step was not applied. Lower train.learning_rate, or find the op with "
            "--check-finite");
  EXPECT_EQ(state.step, 2);
  EXPECT_EQ(state.position, 2);
  EXPECT_EQ(default_generator().state(), dropout);
  EXPECT_FALSE(gradient(task.module().first).defined());
  EXPECT_EQ(task.module().first.to_doubles(), weights);
  EXPECT_EQ(updater.optimizer().steps(), 1);
}

// A batch that --check-finite gave up takes those of its update along, and leaves no gradient.
TEST(UpdaterNotFinite, SkipsTheWholeUpdateOfAnOpThatIsFound) {
  AnyTask task([](const Weights& weights, int64_t batch) {
    return BatchLoss{sum(logarithm(weights.first * (batch == 1 ? -1.0 : 1.0))), no_nll(), 1};
  });
  TrainConfig config = plain(3);
  config.nonfinite = "skip";
  Updater updater(config, task);
  TrainingState state;
  set_check_finite(true);
  testing::internal::CaptureStderr();
  updater.update(state, 4, 0.1);
  EXPECT_EQ(state.position, 3);
  EXPECT_FALSE(gradient(task.module().first).defined());
  const Updater::Outcome skipped = updater.update(state, 4, 0.5).value();
  EXPECT_EQ(state.position, 4);
  set_check_finite(false);
  EXPECT_FALSE(skipped.applied());
  EXPECT_TRUE(std::isnan(skipped.numbers.loss));
  EXPECT_TRUE(std::isnan(skipped.numbers.gradient_norm));
  EXPECT_TRUE(updater.settle(state)->applied());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[train] warning: step 1: [check_finite] logarithm made inf or NaN: output 0 (2); "
            "skipped\n");
  EXPECT_EQ(updater.optimizer().steps(), 1);
  EXPECT_EQ(task.module().first.to_doubles(), (std::vector<double>{1 - 0.5 / 1, 2 - 0.5 / 2}));
}

TEST(UpdaterLoss, OfNoTokensIsZeroAndWarnedOf) {
  constexpr int64_t padding = 0;
  AnyTask task([](const Weights& weights, int64_t) {
    const CrossEntropy sums = cross_entropy(reshape(weights.first, {1, 2}),
                                            Tensor::full({1}, padding, DType::i32), {0, padding});
    return BatchLoss{sums.loss, sums.nll, 0};
  });
  Updater updater(plain(2), task);
  TrainingState state;
  testing::internal::CaptureStderr();
  updater.update(state, 10, 0.1);
  const Updater::Outcome outcome = updater.settle(state).value();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[train] warning: step 1: its batches hold no token; the loss counts as 0\n");
  EXPECT_TRUE(outcome.applied());
  EXPECT_EQ(outcome.tokens, 0);
  EXPECT_EQ(outcome.numbers.loss, 0);
  EXPECT_EQ(outcome.numbers.gradient_norm, 0);
  EXPECT_EQ(task.module().first.to_doubles(), (std::vector<double>{1, 2}));
}

TEST(UpdaterNotFinite, NamesTheFirstParameterAndStops) {
  AnyTask task([](const Weights& weights, int64_t) {
    return BatchLoss{
        sum(weights.first) + sum(weights.second * infinity) - sum(weights.second * infinity),
        no_nll(), 1};
  });
  Updater updater(plain(1), task);
  TrainingState state;
  updater.update(state, 10, 0.1);
  EXPECT_EQ(test::error_of([&] { updater.settle(state); }),
            "[train] step 1: the loss is not finite; the first parameter with such a gradient is "
            "second; the step was not applied. Lower train.learning_rate, or find the op with "
            "--check-finite");
  EXPECT_EQ(task.module().first.to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(updater.optimizer().steps(), 0);
}

TEST(UpdaterNotFinite, NamesTheOpWhenAskedTo) {
  AnyTask task([](const Weights& weights, int64_t) {
    return BatchLoss{sum(logarithm(weights.first * -1.0)), no_nll(), 1};
  });
  Updater updater(plain(1), task);
  TrainingState state;
  set_check_finite(true);
  updater.update(state, 10, 0.1);
  const std::string text = test::error_of([&] { updater.settle(state); });
  set_check_finite(false);
  EXPECT_EQ(
      text,
      "[train] step 1: [check_finite] logarithm made inf or NaN: output 0 (2); the step was not "
      "applied. Lower train.learning_rate");
}

TEST(UpdaterNotFinite, IsSkippedUpToALimitInARow) {
  AnyTask task([](const Weights& weights, int64_t batch) {
    return scaled(weights, batch == 2 ? 1 : std::numeric_limits<double>::quiet_NaN(), 1);
  });
  TrainConfig config = plain(1);
  config.nonfinite = "skip";
  config.nonfinite_limit = 2;
  Updater updater(config, task);
  TrainingState state;
  testing::internal::CaptureStderr();
  for (const bool applied : {false, false, true, false, false}) {
    updater.update(state, 10, 0.1);
    EXPECT_EQ(updater.settle(state)->applied(), applied) << state.step;
  }
  EXPECT_EQ(updater.optimizer().steps(), 1);
  updater.update(state, 10, 0.1);
  EXPECT_EQ(test::error_of([&] { updater.settle(state); }),
            "[train] step 6: the loss is not finite; the first parameter with such a gradient is "
            "first; 2 updates in a row were skipped before it, train.nonfinite_limit allows no "
            "more");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 4) << log;
}

}  // namespace
}  // namespace heed::train
