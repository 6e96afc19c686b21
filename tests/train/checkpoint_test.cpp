#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"
#include "train/run_folder.h"
#include "train/translator.h"

namespace heed::train {
namespace {

std::string refusal(const std::function<void()>& action) {
  return test::error_of<InputError>(action);
}

Translator small_translator() {
  Translator translator;
  translator.config = parse_config("", "small",
                                   {"data.train=grammar:20:3-6", "model.width=4",
                                    "data.validation=none", "data.test=none", "train.steps=9"});
  translator.text =
      build_text(translator.config,
                 load_corpus(translator.config, translator.config.data.train, data::Split::train));
  Generator generator(3);
  translator.model = make_translation_model(translator.config, translator.text, generator);
  return translator;
}

// No field is as in a fresh state, no two are alike.
TrainingState some_state() {
  TrainingState state;
  state.step = 7;
  state.optimizer_steps = 6;
  state.steps_an_epoch = 4;
  state.epoch = 2;
  state.position = 3;
  state.epoch_random = {11, 12, 0xFFFFFFFFFFFFFFFF};
  state.dropout_random = {14, 15, 16};
  state.schedule = {0.1, 1.0 / 3, true, 17};
  state.best = -0.7;
  state.best_loss = 22.5;
  state.best_step = 5;
  state.stale_validations = 18;
  state.skipped_in_a_row = 21;
  state.validation_due = true;
  state.branch_of = "/runs/before";
  state.window_loss = 1e300 / 7;
  state.window_nll = 19.25;
  state.window_tokens = 20;
  state.finished = true;
  return state;
}

std::vector<NamedTensor> some_optimizer_state() {
  return {{"m/a.weight", Tensor::from_vector<float>({1, -0.0F, 3e-45F, 4}, {2, 2})},
          {"v/a.weight", Tensor::from_vector<double>({0.1}, {1})}};
}

void expect_same_tensors(const std::vector<NamedTensor>& actual,
                         const std::vector<NamedTensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(actual[i].name, expected[i].name);
    EXPECT_EQ(actual[i].tensor.dtype(), expected[i].tensor.dtype());
    EXPECT_EQ(actual[i].tensor.shape(), expected[i].tensor.shape());
    EXPECT_EQ(actual[i].tensor.to_doubles(), expected[i].tensor.to_doubles()) << expected[i].name;
  }
}

class CheckpointFile : public testing::Test {
 protected:
  CheckpointFile() : path_(folder_ / "a.safetensors") {
    Checkpoint checkpoint = checkpoint_of(translator_);
    checkpoint.state = some_state();
    checkpoint.optimizer.tensors = some_optimizer_state();
    save_checkpoint(path_, checkpoint);
  }
  test::TemporaryFolder folder_;
  Translator translator_ = small_translator();
  std::string path_;
};

TEST_F(CheckpointFile, ComesBackWhole) {
  const Checkpoint loaded = load_checkpoint(path_);
  const Translator restored = restore_translator(loaded);
  expect_same_tensors(restored.model->named_parameters(), translator_.model->named_parameters());
  expect_same_tensors(loaded.optimizer.tensors, some_optimizer_state());
  EXPECT_EQ(write_toml(restored.config), write_toml(translator_.config));
  for (const auto side : {&TranslationText::source, &TranslationText::target}) {
    EXPECT_EQ((restored.text.*side).vocabulary.state(),
              (translator_.text.*side).vocabulary.state());
    EXPECT_EQ((restored.text.*side).tokenizer->state(),
              (translator_.text.*side).tokenizer->state());
  }
  EXPECT_EQ(loaded.state, some_state());

  const std::string again = folder_ / "b.safetensors";
  Checkpoint saved_again = checkpoint_of(restored);
  saved_again.state = loaded.state;
  saved_again.optimizer = loaded.optimizer;
  save_checkpoint(again, saved_again);
  EXPECT_TRUE(read_file("test", again) == read_file("test", path_));
  EXPECT_FALSE(std::filesystem::exists(again + ".tmp"));
}

// One vocabulary for both sides, and the three embeddings one tensor.
TEST_F(CheckpointFile, KeepsWhatIsShared) {
  Translator translator;
  translator.config = parse_config(
      "", "small",
      {"data.train=grammar:20:3-6", "data.shared_vocabulary=true", "model.kind=transformer",
       "model.width=8", "model.heads=2", "model.layers=1", "model.tie_embeddings=true"});
  const data::PairCorpus corpus =
      load_corpus(translator.config, translator.config.data.train, data::Split::train);
  translator.text = build_text(translator.config, corpus);
  EXPECT_EQ(translator.text.source.vocabulary.state(), translator.text.target.vocabulary.state());
  const data::SentencePair pair = corpus.first(1).front();
  for (const std::string& text : {pair.source, pair.target}) {
    const std::vector<int32_t> ids = translator.text.source.encode(text);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), data::Vocabulary::unknown), 0) << text;
  }
  Generator generator(3);
  translator.model = make_translation_model(translator.config, translator.text, generator);
  EXPECT_EQ(translator.model->aliases().size(), 2u);
  save_checkpoint(path_, checkpoint_of(translator));
  const Checkpoint loaded = load_checkpoint(path_);
  EXPECT_EQ(loaded.aliases, translator.model->aliases());
  const Translator restored = restore_translator(loaded);
  EXPECT_EQ(restored.model->aliases(), translator.model->aliases());
  expect_same_tensors(restored.model->named_parameters(), translator.model->named_parameters());
}

TEST_F(CheckpointFile, IsReadByOthersAsSafetensors) {
  const TensorFile file = read_safetensors(path_);
  EXPECT_EQ(file.at("optimizer/m/a.weight").to_doubles()[3], 4);
  EXPECT_EQ(file.metadata.at("heed.format"), "1");
}

TEST_F(CheckpointFile, TruncatedIsRefused) {
  const std::string whole = read_file("test", path_);
  const std::string no_checkpoint =
      "[checkpoint] " + path_ + " is no checkpoint of heed, or is damaged";
  const std::string damaged =
      "[checkpoint] " + path_ + " is damaged: its content does not match its checksum";
  for (const size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{30}}) {
    write_file("test", path_, whole.substr(0, size));
    EXPECT_EQ(refusal([&] { load_checkpoint(path_); }), no_checkpoint) << size;
  }
  for (const size_t size : {whole.size() / 2, whole.size() - 1}) {
    write_file("test", path_, whole.substr(0, size));
    EXPECT_EQ(refusal([&] { load_checkpoint(path_); }), damaged) << size;
  }
  write_file("test", path_, whole + '\0');
  EXPECT_EQ(refusal([&] { load_checkpoint(path_); }), damaged) << "a byte too many";
}

TEST_F(CheckpointFile, WhatIsNoCheckpointIsRefused) {
  const std::string other = folder_ / "other.safetensors";
  EXPECT_EQ(refusal([&] { load_checkpoint(other); }), "[checkpoint] " + other + ": no such file");
  EXPECT_EQ(refusal([&] { load_checkpoint(folder_.path()); }),
            "[checkpoint] " + folder_.path() + ": is a folder, a file is expected");
  write_safetensors(other, {some_optimizer_state(), {}});
  EXPECT_EQ(refusal([&] { load_checkpoint(other); }),
            "[checkpoint] " + other + " is no checkpoint of heed, or is damaged");
}

class RunFolderFiles : public testing::Test {
 protected:
  void SetUp() override {
    log::set_level(log::Level::warning);
    run_.create();
  }
  void TearDown() override { log::set_level(log::Level::info); }
  void save(int64_t step, bool is_best = false, int64_t keep = 2) {
    Checkpoint checkpoint = checkpoint_of(translator_);
    checkpoint.state.step = step;
    run_.save(checkpoint, is_best, keep);
  }
  void damage(const std::string& path) {
    std::string bytes = read_file("test", path);
    bytes[bytes.size() - 1] ^= 4;
    write_file("test", path, bytes);  // best and last, which name the old file, stay whole
  }

  test::TemporaryFolder folder_;
  RunFolder run_{folder_ / "run"};
  Translator translator_ = small_translator();
};

TEST_F(RunFolderFiles, KeepsTheLatestAndTheBest) {
  save(10);
  save(20, true);
  save(30);
  save(40);
  save(100000000);
  EXPECT_EQ(run_.checkpoint_steps(), (std::vector<int64_t>{100000000, 40}));
  EXPECT_EQ(load_checkpoint(run_.last_path()).state.step, 100000000);
  EXPECT_EQ(load_checkpoint(run_.best_path()).state.step, 20);
  EXPECT_EQ(run_.load_latest().state.step, 100000000);
  EXPECT_EQ(run_.load_best().state.step, 20);
  EXPECT_EQ(load_trained(run_.path()).state.step, 20);
  EXPECT_EQ(load_trained(run_.last_path()).state.step, 100000000);
  save(100000001, false, 1);
  EXPECT_EQ(run_.checkpoint_steps(), (std::vector<int64_t>{100000001}));
}

TEST_F(RunFolderFiles, OtherFilesAreNoCheckpoints) {
  save(10);
  for (const char* name : {"step-.safetensors", "step-12x.safetensors", "step-12.safetensors",
                           "step-99.safetensors.tmp", "step--0000001.safetensors"}) {
    write_file("test", run_.path() + "/checkpoints/" + name, "");
  }
  EXPECT_EQ(run_.checkpoint_steps(), (std::vector<int64_t>{10}));
}

TEST_F(RunFolderFiles, ADamagedCheckpointGivesWayToTheOneBefore) {
  save(10, false, 3);
  save(20, false, 3);
  save(30, false, 3);
  damage(run_.checkpoint_path(30));
  damage(run_.checkpoint_path(20));
  log::set_file(run_.log_path());
  EXPECT_EQ(run_.load_latest().state.step, 10);
  log::set_file("");
  const auto line = [&](int64_t step, int64_t before) {
    return fmt::format(
        "passed over: [checkpoint] {} is damaged: its content does not match its checksum; {} is "
        "used instead\n",
        run_.checkpoint_path(step), run_.checkpoint_path(before));
  };
  const std::string log = read_file("test", run_.log_path());
  EXPECT_NE(log.find(line(30, 20)), std::string::npos) << log;
  EXPECT_NE(log.find(line(20, 10)), std::string::npos) << log;
  damage(run_.checkpoint_path(10));
  EXPECT_EQ(run_.load_latest().state.step, 30) << "last still names the old file, which is whole";
  damage(run_.last_path());
  EXPECT_EQ(
      refusal([&] { run_.load_latest(); }),
      "[checkpoint] " + run_.last_path() + " is damaged: its content does not match its checksum");
}

TEST_F(RunFolderFiles, ADamagedBestGivesWayToTheLatest) {
  save(10, true);
  save(20);
  damage(run_.best_path());
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_.load_best().state.step, 20);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[run] warning: passed over: [checkpoint] " + run_.best_path() +
                " is damaged: its content does not match its checksum; the latest checkpoint is "
                "used instead\n");
}

TEST_F(RunFolderFiles, GoOnFromLastOrBestWhereNoNumberedOneIs) {
  save(10, true);
  save(20);
  std::filesystem::remove(run_.checkpoint_path(10));
  std::filesystem::remove(run_.checkpoint_path(20));
  ASSERT_EQ(run_.load_latest().state.step, 20);
  run_.tidy(run_.load_latest(), 2);
  EXPECT_EQ(run_.checkpoint_steps(), (std::vector<int64_t>{20}));
}

TEST_F(RunFolderFiles, WithoutCheckpointIsNoRun) {
  const std::string text = "[run] " + run_.path() +
                           " is no run folder: there is no checkpoint in it; `heed train CONFIG "
                           "--run " +
                           run_.path() + "` makes one";
  EXPECT_FALSE(run_.has_checkpoint());
  EXPECT_EQ(refusal([&] { run_.load_latest(); }), text);
  EXPECT_EQ(refusal([&] { run_.load_best(); }), text);
  EXPECT_EQ(refusal([&] { load_trained(run_.path()); }), text);
}

TEST(RunFolder, ThatCannotBeMade) {
  const test::TemporaryFolder folder;
  write_file("test", folder / "file", "");
  const RunFolder run(folder / "file/run");
  EXPECT_EQ(test::error_of([&] { run.create(); }),
            "[run] the folder " + run.path() + "/checkpoints cannot be made: Not a directory");
}

}  // namespace
}  // namespace heed::train
