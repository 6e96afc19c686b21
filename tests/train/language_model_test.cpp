#include "train/language_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numbers>
#include <utility>

#include "autograd/functions.h"
#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"
#include "tests/support/all_ids.h"
#include "tests/support/expect_close.h"
#include "tests/support/pipe.h"
#include "tests/support/temporary_folder.h"
#include "train/language_model_task.h"
#include "train/report/run_report.h"
#include "train/trainer.h"
#include "train/translator.h"

namespace heed::train {
namespace {

using Overrides = std::vector<std::string>;

template <typename Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

std::string all_of(const data::RunningText& text) {
  std::string all;
  text.for_each_line([&](const data::RunningText::Line& line) {
    all += line.text;
    all += line.has_newline ? "\n" : "";
  });
  return all;
}

class LanguageModels : public testing::Test {
 protected:
  void SetUp() override {
    log::set_level(log::Level::off);
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += "line " + std::to_string(i * i % 37) + " é\n";
    }
    write_file("test", path("text.txt"), text);
  }
  void TearDown() override { log::set_level(log::Level::info); }
  std::string path(const std::string& name) const { return folder_ / name; }

  // About 560 tokens, 540 of them to train on: an epoch has 8 batches of 4 windows.
  Config config_with(const Overrides& overrides) const {
    Overrides all = {"model.kind=causal_lm",    "data.train=" + path("text.txt"),
                     "data.batch_size=4",       "model.width=8",
                     "model.layers=1",          "model.heads=2",
                     "model.context=16",        "run.log_every=1",
                     "train.steps=10",          "train.checkpoint_every=1",
                     "train.validate_every=5",  "train.keep_checkpoints=100",
                     "train.learning_rate=0.01"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return parse_config("", "small", all);
  }
  LanguageModel model_with(const Overrides& overrides) const {
    LanguageModelTask task(config_with(overrides), nullptr);
    return std::move(task.language_model());
  }

  test::TemporaryFolder folder_;
};

TEST_F(LanguageModels, TheTailIsHeldOut) {
  const Config config = config_with({});
  const auto [train, validation] = load_training_texts(config);
  ASSERT_TRUE(validation);
  const data::RunningText& tail_text = *validation;
  const std::string whole = read_file("test", path("text.txt"));
  EXPECT_EQ(all_of(train) + all_of(tail_text), whole);
  EXPECT_NEAR(static_cast<double>(all_of(tail_text).size()),
              0.1 * static_cast<double>(whole.size()), 2);
  EXPECT_EQ(train.name(), path("text.txt") + " without its tail");
  EXPECT_EQ(tail_text.name(), "the tail of " + path("text.txt"));
  // With a text of its own for validation, all of the other is learned.
  const Config files = config_with({"data.validation=" + path("text.txt")});
  EXPECT_EQ(all_of(load_training_texts(files).train), whole);
  EXPECT_EQ(all_of(*load_training_texts(files).validation), whole);
  EXPECT_EQ(all_of(load_held_out_text(files, files.data.test).text), whole);
  EXPECT_EQ(refusal([&] { load_held_out_text(files, {"tail"}); }),
            "[data] the tail of " + path("text.txt") +
                " was learned from: data.validation held out " + path("text.txt") +
                "; name another text");
}

TEST_F(LanguageModels, APipeIsReadAsAFileIs) {
  const auto train_on = [&](const std::string& text, const std::string& run) {
    Trainer(config_with({"data.train=" + text, "train.steps=2"}), RunFolder(path(run))).run();
    return RunFolder(path(run)).load_best();
  };
  const Checkpoint of_file = train_on(path("text.txt"), "of file");
  const test::Pipe pipe(path("pipe"), read_file("test", path("text.txt")));
  const Checkpoint of_pipe = train_on(path("pipe"), "of pipe");
  EXPECT_EQ(of_pipe.training_data, of_file.training_data);
  EXPECT_EQ(of_pipe.state.best, of_file.state.best) << "the same tail";
}

TEST_F(LanguageModels, TextsThatWillNotDoAreWorded) {
  const Config config = config_with({});
  EXPECT_EQ(refusal([&] {
              load_held_out_text(config, {"a", "b"});
            }),
            "[data] a language model reads one text, 2 were given");
  EXPECT_EQ(refusal([&] { load_held_out_text(config, {"grammar:20"}); }),
            "[data] grammar:20 makes pairs of sentences, a language model reads one text");
  write_file("test", path("short.txt"), "a");
  const LanguageModel model = model_with({});
  EXPECT_EQ(refusal([&] {
              encode_running_text(model, {"short.txt", std::string("a")});
            }),
            "[data] short.txt has 1 token, at least 2 are needed: one to read, one to predict");
}

// Every token but the first is predicted once, from the tokens of its own window.
TEST_F(LanguageModels, LossOfAText) {
  LanguageModel model = model_with({"train.label_smoothing=0.1"});
  const EncodedText text =
      encode_running_text(model, *load_training_texts(model.config).validation);
  const nn::EvaluationScope evaluation(*model.model);
  const int64_t context = model.config.model.context;
  const std::vector<int32_t> ids = test::all_ids(text.ids);
  const auto count = static_cast<int64_t>(ids.size());
  double nll = 0;
  int64_t tokens = 0;
  for (int64_t begin = 0; begin + 1 < count; begin += context) {
    const int64_t length = std::min(context, count - 1 - begin);
    const Tensor input = Tensor::from_vector(
        std::vector<int32_t>(ids.begin() + begin, ids.begin() + begin + length), {1, length});
    const auto logits = log_softmax(model.model->forward(input)).to_doubles();
    const int64_t vocabulary = model.text.vocabulary.size();
    for (int64_t t = 0; t < length; ++t) {
      nll -= logits[static_cast<size_t>(t * vocabulary + ids[static_cast<size_t>(begin + t + 1)])];
      ++tokens;
    }
  }
  ASSERT_EQ(tokens, count - 1);
  ASSERT_NE(tokens % context, 0) << "the last window is short";
  const TextLoss loss = text_loss(model, text);
  EXPECT_EQ(loss.tokens, tokens);
  EXPECT_EQ(loss.characters, tokens) << "a token is a character";
  EXPECT_NEAR(loss.nll, nll, 1e-4 * nll);
  EXPECT_GT(std::abs(loss.loss - loss.nll), 1e-3) << "smoothing tells them apart";
  EXPECT_NEAR(loss.bits_per_character().value(), nll / tokens / std::numbers::ln2, 1e-4);
  EXPECT_NEAR(loss.perplexity(), std::exp(nll / tokens), 1e-3 * loss.perplexity());
}

TEST_F(LanguageModels, CharactersAreThoseOfThePredictedTokens) {
  const std::string whole = read_file("test", path("text.txt"));
  const auto points = static_cast<int64_t>(whole.size()) - 60;  // é is of two bytes
  const LanguageModel subwords = model_with({"data.tokenizer=subword", "data.subword_size=30"});
  const EncodedText text = encode_running_text(subwords, {"text.txt", whole});
  const std::string first = subwords.text.tokenizer->encode(whole.substr(0, 5)).front();
  EXPECT_EQ(first.substr(0, 3), "▁");
  EXPECT_EQ(text.characters, points - static_cast<int64_t>(first.size() - 3));
  EXPECT_EQ(encode_running_text(subwords, {"lines", "\n\nline\n"}).characters, 6);
  for (const std::string tokenizer : {"word", "space"}) {
    LanguageModel words = model_with({"data.tokenizer=" + tokenizer});
    const EncodedText lossy = encode_running_text(words, {"text.txt", whole});
    EXPECT_EQ(lossy.characters, std::nullopt) << tokenizer;
    EXPECT_EQ(text_loss(words, lossy).bits_per_character(), std::nullopt) << tokenizer;
  }
}

TEST_F(LanguageModels, AVocabularyNeedsATokenOfItsOwn) {
  EXPECT_EQ(refusal([&] { model_with({"data.min_count=100000"}); }),
            "[data] " + path("text.txt") +
                " without its tail: no token comes data.min_count = 100000 times, so the "
                "vocabulary is empty; lower data.min_count");
  EXPECT_EQ(refusal([&] { model_with({"data.max_vocabulary=4"}); }),
            "[data] data.max_vocabulary = 4 leaves no room beside the 4 special tokens; raise it");
}

TEST_F(LanguageModels, AChangedTextIsNotGoneOnWith) {
  const Config config = config_with({});
  const RunFolder run(path("run"));
  Trainer(config, run).run();
  EXPECT_EQ(refusal([&] { Trainer(config, run); }), "none");
  Checkpoint saved = run.load_latest();
  const std::string before = std::exchange(saved.training_data, "");
  std::string text = read_file("test", path("text.txt"));
  text[0] = 'n';  // as long as before
  write_file("test", path("text.txt"), text);
  const std::string now = LanguageModelTask(config, &saved).checkpoint().training_data;
  EXPECT_EQ(before.substr(0, before.find(',')), now.substr(0, now.find(',')));
  EXPECT_EQ(refusal([&] { Trainer(config, run); }),
            "[run] " + path("text.txt") + " without its tail is not what " + saved.path +
                " was trained on: it was " + before + ", it is " + now +
                "; take the change back, or train anew in another folder (--run)");
}

TEST_F(LanguageModels, ComeBackFromACheckpoint) {
  const LanguageModel model = model_with({"model.positions=rotary", "model.activation=swiglu"});
  Checkpoint saved = checkpoint_of(model);
  save_checkpoint(path("a.safetensors"), saved);
  const Checkpoint loaded = load_checkpoint(path("a.safetensors"));
  const LanguageModel restored = restore_language_model(loaded);
  EXPECT_EQ(restored.text.vocabulary.state(), model.text.vocabulary.state());
  EXPECT_EQ(restored.text.tokenizer->state(), model.text.tokenizer->state());
  const auto before = model.model->named_parameters();
  const auto after = restored.model->named_parameters();
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].tensor.to_doubles(), after[i].tensor.to_doubles()) << before[i].name;
  }
  EXPECT_EQ(refusal([&] { restore_translator(loaded); }),
            "[run] " + path("a.safetensors") +
                " holds a language model (causal_lm), which translates nothing; `heed generate` "
                "writes with it");
}

class LanguageModelResume : public LanguageModels, public testing::WithParamInterface<Overrides> {};

// Wherever a run is cut it comes to the same bytes.
TEST_P(LanguageModelResume, ComesToTheSameBytes) {
  const Config config = config_with(GetParam());
  const RunFolder straight(path("straight"));
  ASSERT_EQ(Trainer(config, straight).run(), TrainingEnd::finished);
  const std::string expected = read_file("test", straight.last_path());
  for (const int64_t cut : {1, 3, 5, 8, 9}) {
    const RunFolder resumed(path("cut" + std::to_string(cut)));
    std::filesystem::copy(straight.path(), resumed.path(),
                          std::filesystem::copy_options::recursive);
    for (const int64_t saved : resumed.checkpoint_steps()) {
      if (saved >= cut) {
        std::filesystem::remove(resumed.checkpoint_path(saved));
      }
    }
    EXPECT_EQ(Trainer(config, resumed).run(), TrainingEnd::finished);
    EXPECT_TRUE(read_file("test", resumed.last_path()) == expected) << "cut before step " << cut;
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, LanguageModelResume,
                         testing::Values(Overrides{"data.windows=random", "model.dropout=0.2",
                                                   "train.accumulate=2"},
                                         Overrides{"data.windows=sequential"}),
                         [](const auto& tested) {
                           const std::string& first = tested.param.front();
                           return first.substr(first.find('=') + 1);
                         });

TEST_F(LanguageModels, AnEpochShowsAsManyTokensAsTheTextHas) {
  for (const std::string windows : {"random", "sequential"}) {
    LanguageModelTask task(config_with({"data.windows=" + windows}), nullptr);
    const LanguageModel& model = task.language_model();
    const int64_t ids =
        encode_running_text(model, load_training_texts(model.config).train).ids.size();
    Generator generator(7);
    const int64_t batches = task.plan_epoch(generator);
    int64_t tokens = 0;
    for (int64_t i = 0; i < batches; ++i) {
      tokens += task.loss(i).tokens;
    }
    if (windows == "sequential") {
      EXPECT_EQ(tokens, ids - 1);
    } else {
      EXPECT_EQ(tokens, ids / 64 * 64);
    }
  }
}

TEST_F(LanguageModels, LearnAndReport) {
  const Config config = config_with({"train.steps=60", "train.validate_every=20"});
  const RunFolder folder(path("run"));
  Trainer(config, folder).run();
  std::vector<double> losses;
  for (const MetricsEvent& event : read_metrics(folder.metrics_path())) {
    if (event.event == "validation") {
      losses.push_back(event.value("nll"));
      EXPECT_NEAR(event.value("bits_per_character"), losses.back() / std::numbers::ln2, 1e-9);
    }
  }
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_LT(losses.back(), losses.front() - 0.1);
  const std::string page =
      run_report("runs/text", folder.load_best(), read_metrics(folder.metrics_path()));
  EXPECT_NE(page.find(">Negative log-likelihood<"), std::string::npos);
  EXPECT_NE(page.find("<h2>Samples</h2>\n<pre>"), std::string::npos) << page.substr(0, 3000);
  EXPECT_EQ(page.find("<h2>Alignments</h2>"), std::string::npos);
}

}  // namespace
}  // namespace heed::train
