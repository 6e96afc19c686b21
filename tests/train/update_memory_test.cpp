#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/logging.h"
#include "core/memory.h"
#include "tests/support/temporary_folder.h"
#include "train/config/config.h"
#include "train/update.h"

// A training step finds its memory in the cache of the steps before.
namespace heed::train {
namespace {

class UpdaterMemory : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  void TearDown() override { log::set_level(log::Level::info); }

  // A small model of the kind, whose batches are all of one shape.
  Config config() const {
    const std::string kind = GetParam();
    std::string pairs;
    for (int i = 0; i < 16; ++i) {
      const std::string words = std::to_string(i % 5) + " " + std::to_string(i % 3) + " a b";
      pairs += kind == "causal_lm" ? words + "\n" : words + "\t" + words + " c\n";
    }
    write_file("test", folder_ / "train.tsv", pairs);
    std::vector<std::string> all = {
        "model.kind=" + kind, "model.width=8",        "model.dropout=0.1",
        "data.batch_size=4",  "data.validation=none", "data.train=" + (folder_ / "train.tsv")};
    if (kind == "causal_lm") {
      all.emplace_back("model.context=16");
    }
    if (kind == "causal_lm" || kind == "transformer") {
      all.insert(all.end(), {"model.heads=2", "model.layers=1"});
    }
    return parse_config("", "small", all);
  }

  test::TemporaryFolder folder_;
};

TEST_P(UpdaterMemory, IsAskedOfTheSystemInTheFirstStepsAlone) {
  const Config given = config();
  const std::unique_ptr<Task> task = make_task(given, nullptr);
  Updater updater(given.train, *task);
  Generator generator(1);
  TrainingState state;
  int64_t batches = 0;
  const auto update = [&](int times) {
    for (int i = 0; i < times; ++i) {
      if (state.position >= batches) {
        batches = task->plan_epoch(generator);
        state.position = 0;
      }
      updater.update(state, batches, 0.01);
    }
    updater.settle(state);
  };
  const DeviceMemory& memory = device_memory(default_device());
  update(10);
  const MemoryStatistics warm = memory.statistics();
  update(30);
  EXPECT_EQ(state.step, 40);
  EXPECT_EQ(memory.statistics().system_calls, warm.system_calls);
  EXPECT_EQ(memory.statistics().reserved, warm.reserved);
}

INSTANTIATE_TEST_SUITE_P(Kinds, UpdaterMemory,
                         testing::Values("rnnsearch", "rnnencdec", "transformer", "causal_lm"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace heed::train
