#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/reliability/small_runs.h"

// Trainings that are killed at random moments and gone on with end in the files of one that never
// was. HEED_KILLS says how many kills each setting gets (default 2), HEED_KILL_SEED draws others.
namespace heed::test {
namespace {

using Clock = std::chrono::steady_clock;

unsigned number_of(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::atoi(text));
}

struct Setting {
  const char* name;
  std::vector<std::string> overrides;
};

class Killed : public testing::TestWithParam<Setting> {};

TEST_P(Killed, ComesToTheSameFiles) {
  const TemporaryFolder folder;
  const train::RunFolder straight(folder / "straight");
  const train::RunFolder killed(folder / "killed");
  const auto start = Clock::now();
  const Outcome whole =
      Program(folder, small_training(folder, "straight", GetParam().overrides)).wait();
  ASSERT_EQ(whole.code, 0) << whole.err;
  const auto longest = std::chrono::duration<double>(Clock::now() - start) * 0.8;

  const Arguments training = small_training(folder, "killed", GetParam().overrides);
  const unsigned seed = number_of("HEED_KILL_SEED", 1);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  const unsigned asked = number_of("HEED_KILLS", 2);
  for (unsigned kills = 0; kills < asked;) {
    const Program program(folder, training);
    std::this_thread::sleep_for(longest * share(random));
    if (program.kill_now()) {
      ++kills;
    } else {  // it was faster: compared, and begun anew for the kills that are left
      expect_same_run(killed, straight);
      std::filesystem::remove_all(killed.path());
    }
  }
  const Outcome last = Program(folder, training).wait();
  EXPECT_EQ(last.code, 0) << last.err;
  expect_same_run(killed, straight);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Killed,
    testing::Values(
        Setting{"RnnsearchAdam",
                {"train.steps=40", "data.train=grammar:60:3-6", "model.dropout=0.3",
                 "train.accumulate=2", "train.optimizer=adam"}},
        Setting{"RnnencdecAdadelta",
                {"train.epochs=5", "data.train=grammar:60:3-6", "model.kind=rnnencdec",
                 "train.optimizer=adadelta", "data.batch_tokens=60"}},
        Setting{"RnnsearchPlateau",
                {"train.steps=30", "data.train=grammar:60:3-6", "train.optimizer=sgd",
                 "train.momentum=0.9", "train.schedule=plateau", "train.plateau_patience=1",
                 "data.validation=grammar:10:3-6", "train.validate_every=4", "train.patience=5"}},
        Setting{"TransformerAdamW",
                {"train.steps=40", "data.train=grammar:60:3-6", "model.kind=transformer",
                 "model.layers=1", "model.heads=2", "model.dropout=0.2", "train.accumulate=3",
                 "train.optimizer=adamw", "train.weight_decay=0.01", "train.warmup_steps=10",
                 "data.shared_vocabulary=true", "model.tie_embeddings=true"}},
        Setting{"TransformerNoam",
                {"train.steps=30", "data.train=grammar:60:3-6", "model.kind=transformer",
                 "model.layers=1", "model.heads=2", "train.schedule=noam", "train.warmup_steps=8",
                 "data.validation=grammar:10:3-6", "data.tokenizer=character"}},
        Setting{"CausalLmCosine",
                {"train.steps=40", "data.task=language_model", "model.kind=causal_lm",
                 "data.train=text.txt", "data.validation=tail", "model.layers=1", "model.heads=2",
                 "model.context=16", "model.dropout=0.2", "train.validate_every=7"}},
        Setting{"CausalLmSequential",
                {"train.epochs=2", "data.task=language_model", "model.kind=causal_lm",
                 "data.train=text.txt", "data.validation=tail", "data.windows=sequential",
                 "data.batch_size=4", "model.layers=1", "model.heads=2", "model.context=16",
                 "train.accumulate=2", "train.schedule=inverse_sqrt", "train.warmup_steps=5"}}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace heed::test
