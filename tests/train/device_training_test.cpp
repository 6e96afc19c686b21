#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"
#include "core/memory.h"
#include "kernels/backend.h"
#include "kernels/precision.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/has_card.h"
#include "tests/train/run_program.h"
#include "train/metrics.h"
#include "train/trainer.h"

#ifdef HEED_CUDA_EMULATED
#include "kernels/cuda/emulator/emulator.h"
#endif

// run.device = "cuda": fifty steps of each kind of model as on the CPU, or a refusal in words.
namespace heed::train {
namespace {

using Overrides = std::vector<std::string>;

class DeviceTraining : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!test::has_card()) {
      GTEST_SKIP() << "the cpu is the only device here";
    }
    log::set_level(log::Level::off);
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += "line " + std::to_string(i * i % 37) + "\n";
    }
    write_file("test", folder_ / "text.txt", text);
  }
  void TearDown() override {
    log::set_level(log::Level::info);
    set_default_device(before_);
  }

  Config config_on(const std::string& device, const std::string& precision = "float32",
                   const Overrides& further = {}) const {
    const std::string kind = GetParam();
    Overrides all = {"model.kind=" + kind, "run.device=" + device,
                     "model.width=8",      "run.log_every=1",
                     "train.steps=50",     "train.checkpoint_every=25",
                     "model.dropout=0.1",  "train.keep_checkpoints=100",
                     "data.batch_size=4",  "data.validation=none"};
    if (precision != "float32") {
      all.emplace_back("run.precision=" + precision);
    }
    if (kind == "causal_lm" || kind == "transformer") {
      all.insert(all.end(), {"model.heads=2", "model.layers=1"});
    }
    if (kind == "causal_lm") {
      all.insert(all.end(), {"data.train=" + (folder_ / "text.txt"), "model.context=16"});
    } else {
      all.emplace_back("data.train=grammar:40:3-6");
    }
    all.insert(all.end(), further.begin(), further.end());
    return parse_config("", "small", all);
  }

  std::vector<double> losses_of(const RunFolder& run) const {
    std::vector<double> losses;
    for (const MetricsEvent& event : read_metrics(run.metrics_path())) {
      if (event.event == "train") {
        losses.push_back(event.value("loss"));
      }
    }
    return losses;
  }

  test::TemporaryFolder folder_;
  const Device before_ = default_device();
};

TEST_P(DeviceTraining, LearnsAsOnTheCpu) {
  std::vector<std::vector<double>> losses;
  for (const std::string device : {"cpu", "cuda"}) {
    const RunFolder run(folder_ / device);
    Trainer trainer(config_on(device), run);
    EXPECT_EQ(trainer.run(), TrainingEnd::finished);
    // Not wherever the tests' own tensors lie.
    const Tensor weights = trainer.task().module().named_parameters().front().tensor;
    EXPECT_EQ(weights.device(), parse_device(device));
    losses.push_back(losses_of(run));
  }
  const std::vector<double>& expected = losses[0];
  const std::vector<double>& actual = losses[1];
  ASSERT_EQ(expected.size(), 50U);
  ASSERT_EQ(actual.size(), 50U);
  for (size_t i = 0; i < actual.size(); ++i) {
    // Rounding alone sets them apart, and grows with the steps.
    EXPECT_NEAR(actual[i], expected[i], 1e-5 * static_cast<double>(i + 1)) << "step " << i + 1;
  }
  EXPECT_LT(actual.back(), actual.front());
}

// Rounded products set the losses apart by a little, and by something.
TEST_P(DeviceTraining, LearnsInBf16AndTf32) {
  try {
    kernels::set_precision(test::card, kernels::Precision::bf16);
  } catch (const InputError& lacking) {
    GTEST_SKIP() << lacking.what();
  }
  std::vector<std::vector<double>> losses;
  for (const std::string precision : {"float32", "tf32", "bf16"}) {
    const RunFolder run(folder_ / precision);
    Trainer(config_on("cuda", precision), run).run();
    losses.push_back(losses_of(run));
  }
  kernels::set_precision(test::card, kernels::Precision::float32);
  for (const size_t rounded : {size_t{1}, size_t{2}}) {
    const double tolerance = rounded == 1 ? 5e-4 : 3e-3;
    ASSERT_EQ(losses[rounded].size(), 50U);
    for (size_t i = 0; i < 50; ++i) {
      EXPECT_NEAR(losses[rounded][i], losses[0][i], tolerance) << "step " << i + 1;
    }
    EXPECT_NE(losses[rounded], losses[0]);
    EXPECT_LT(losses[rounded].back(), losses[rounded].front());
  }
}

// Between log lines the host waits for no number of the device: of ten steps more not once more.
TEST_P(DeviceTraining, StepsWithoutAWaitOfTheHost) {
  std::vector<int64_t> waits;
  for (const std::string steps : {"5", "15"}) {
    Overrides rare = {"train.steps=" + steps, "train.checkpoint_every=1000", "run.log_every=1000"};
    Trainer trainer(config_on("cuda", "float32", rare), RunFolder(folder_ / steps));
    DeviceMemory& memory = device_memory(Device{DeviceKind::cuda});
    const int64_t before = memory.statistics().host_waits;
    trainer.run();
    waits.push_back(memory.statistics().host_waits - before);
  }
  EXPECT_GT(waits[0], 0) << "of the checkpoint at the end";
  EXPECT_EQ(waits[1], waits[0]);
}

// Killed and begun anew from the middle, it comes to the same bytes.
TEST_P(DeviceTraining, GoesOnToTheSameBytes) {
  const RunFolder run(folder_ / "cuda");
  Trainer(config_on("cuda"), run).run();
  const std::vector<double> losses = losses_of(run);
  const std::string bytes = read_file("test", run.checkpoint_path(50));
  std::filesystem::remove(run.checkpoint_path(50));
  Trainer(config_on("cuda"), run).run();
  EXPECT_EQ(losses_of(run), losses);
  EXPECT_EQ(read_file("test", run.checkpoint_path(50)), bytes);
}

#ifdef HEED_CUDA_EMULATED
// Whichever thread of a block, and block of a grid, comes first.
TEST_P(DeviceTraining, ComesToTheSameBytesInEveryOrderOfTheThreads) {
  using emulator::Order;
  const Order before = emulator::order();
  std::vector<std::string> checkpoints;
  for (const Order order : {Order::forward, Order::reverse, Order::shuffled}) {
    emulator::set_order(order);
    const test::TemporaryFolder folder;
    const RunFolder run(folder / "cuda");
    Trainer(config_on("cuda", "float32", {"train.steps=4", "train.checkpoint_every=4"}), run).run();
    checkpoints.push_back(read_file("test", run.checkpoint_path(4)));
  }
  emulator::set_order(before);
  EXPECT_TRUE(checkpoints[1] == checkpoints[0]);
  EXPECT_TRUE(checkpoints[2] == checkpoints[0]);
}
#endif

TEST(Device, ThatIsNotThereIsRefused) {
  if (test::has_card()) {
    GTEST_SKIP() << "it is there";
  }
  const test::TemporaryFolder folder;
  write_file("test", folder / "tiny.toml", "[data]\ntrain = \"grammar:40:3-6\"\n");
  const test::Outcome outcome =
      test::Program(folder, {"train", "tiny.toml", "--set", "run.device=cuda"}).wait();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  const std::string refusal = test::error_of<InputError>([] { kernels::backend(test::card); });
  EXPECT_TRUE(refusal.starts_with("[device] cuda was asked for, but ")) << refusal;
  EXPECT_EQ(test::without_machine(outcome.err), refusal + "\n");
}

INSTANTIATE_TEST_SUITE_P(Kinds, DeviceTraining,
                         testing::Values("rnnsearch", "rnnencdec", "transformer", "causal_lm"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace heed::train
