#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace heed::train {
namespace {

TrainConfig with(const std::string& schedule) {
  TrainConfig config;
  config.schedule = schedule;
  config.learning_rate = 0.4;
  return config;
}

TEST(Schedule, Constant) {
  const Schedule schedule(with("constant"), 100);
  for (const int64_t step : {1, 50, 100, 1000}) {
    EXPECT_EQ(schedule.learning_rate(step), 0.4);
  }
}

TEST(Schedule, ConstantWarmsUp) {
  TrainConfig config = with("constant");
  config.warmup_steps = 10;
  const Schedule schedule(config, 1000);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1), 0.04);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(10), 0.4);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1000), 0.4);
}

TEST(Schedule, InverseSquareRootRisesThenFalls) {
  TrainConfig config = with("inverse_sqrt");
  config.warmup_steps = 10;
  const Schedule schedule(config, 1000);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1), 0.04);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(9), 0.36);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(10), 0.4);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(40), 0.2);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1000), 0.04);
  config.warmup_steps = 0;
  const Schedule at_once(config, 1000);
  EXPECT_DOUBLE_EQ(at_once.learning_rate(1), 0.4);
  EXPECT_DOUBLE_EQ(at_once.learning_rate(4), 0.2);
}

// Vaswani et al. 2017, equation 3, at the paper's width.
TEST(Schedule, NoamRisesLinearlyThenFalls) {
  TrainConfig config = with("noam");
  config.learning_rate = 2;
  config.warmup_steps = 4000;
  const Schedule schedule(config, 100000, 512);
  const double peak = 2 / std::sqrt(512.0 * 4000);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1), peak / 4000);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1000), peak / 4);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(4000), peak);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(16000), peak / 2);
}

TEST(Schedule, CosineEndsAtTheLeastRate) {
  TrainConfig config = with("cosine");
  config.warmup_steps = 20;
  config.min_learning_rate = 0.1;
  const Schedule schedule(config, 120);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(5), 0.1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(20), 0.4);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(45),
                   0.1 + 0.15 * (1 + std::cos(std::numbers::pi * 0.25)));
  EXPECT_DOUBLE_EQ(schedule.learning_rate(70), 0.25);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(120), 0.1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(200), 0.1) << "past the end it stays";
}

TEST(Schedule, CosineWithoutRoomAfterTheWarmUp) {
  TrainConfig config = with("cosine");
  config.warmup_steps = 10;
  const Schedule schedule(config, 10);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(9), 0.36);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(10), 0.4);
}

TEST(Schedule, PlateauFallsWhenTheLossStalls) {
  TrainConfig config = with("plateau");
  config.plateau_factor = 0.5;
  config.plateau_patience = 2;
  config.min_learning_rate = 0.15;
  Schedule schedule(config, 100);
  const auto after = [&](double loss) {
    schedule.after_validation(loss);
    return schedule.learning_rate(7);
  };
  EXPECT_EQ(after(3), 0.4);
  EXPECT_EQ(after(2), 0.4);
  EXPECT_EQ(after(2), 0.4) << "no gain, once";
  EXPECT_EQ(after(1.9), 0.4) << "a gain starts the count again";
  EXPECT_EQ(after(1.95), 0.4);
  EXPECT_EQ(after(5), 0.2) << "no gain, twice";
  EXPECT_EQ(after(5), 0.2);

  Schedule resumed(config, 100);
  resumed.set_state(schedule.state());
  EXPECT_EQ(resumed.learning_rate(7), 0.2);
  resumed.after_validation(5);
  EXPECT_EQ(resumed.learning_rate(7), 0.15) << "no lower than the least rate";
}

TEST(Schedule, OnlyPlateauListensToTheLoss) {
  for (const char* name : {"constant", "inverse_sqrt", "cosine"}) {
    Schedule schedule(with(name), 100);
    const double before = schedule.learning_rate(7);
    for (int i = 0; i < 10; ++i) {
      schedule.after_validation(5);
    }
    EXPECT_EQ(schedule.learning_rate(7), before) << name;
  }
}

}  // namespace
}  // namespace heed::train
