#include "train/update.h"

#include <gtest/gtest.h>

#include <algorithm>
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

const Tensor no_nll = Tensor::zeros({}, DType::f64);

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
  EXPECT_TRUE(updater.update(state, 10, 0.1).applied);
  EXPECT_EQ(state.position, 6);
}

TEST(UpdaterLoss, OfNoTokensIsZeroAndWarnedOf) {
  AnyTask task([](const Weights& weights, int64_t) { return scaled(weights, 0, 0); });
  TrainConfig config = plain(2);
  Updater updater(config, task);
  TrainingState state;
  testing::internal::CaptureStderr();
  const Updater::Outcome outcome = updater.update(state, 10, 0.1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[train] warning: step 1: its batches hold no token; the loss counts as 0\n");
  EXPECT_EQ(outcome.tokens, 0);
  EXPECT_TRUE(outcome.applied);
}

TEST(UpdaterNotFinite, NamesTheFirstParameterAndStops) {
  AnyTask task([](const Weights& weights, int64_t) {
    return BatchLoss{
        sum(weights.first) + sum(weights.second * infinity) - sum(weights.second * infinity),
        no_nll, 1};
  });
  Updater updater(plain(1), task);
  TrainingState state;
  EXPECT_EQ(test::error_of([&] { updater.update(state, 10, 0.1); }),
            "[train] step 1: the loss is not finite; the first parameter with such a gradient is "
            "second; the step was not applied. Lower train.learning_rate, or find the op with "
            "--check-finite");
  EXPECT_EQ(task.module().first.to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(updater.optimizer().steps(), 0);
}

TEST(UpdaterNotFinite, NamesTheOpWhenAskedTo) {
  AnyTask task([](const Weights& weights, int64_t) {
    return BatchLoss{sum(logarithm(weights.first * -1.0)), no_nll, 1};
  });
  Updater updater(plain(1), task);
  TrainingState state;
  set_check_finite(true);
  const std::string text = test::error_of([&] { updater.update(state, 10, 0.1); });
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
    EXPECT_EQ(updater.update(state, 10, 0.1).applied, applied) << state.step;
  }
  EXPECT_EQ(test::error_of([&] { updater.update(state, 10, 0.1); }),
            "[train] step 6: the loss is not finite; the first parameter with such a gradient is "
            "first; 2 updates in a row were skipped before it, train.nonfinite_limit allows no "
            "more");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 4) << log;
}

}  // namespace
}  // namespace heed::train
