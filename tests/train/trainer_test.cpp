#include "train/trainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/interrupt.h"
#include "core/logging.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_close.h"
#include "tests/support/pipe.h"
#include "tests/support/temporary_folder.h"
#include "train/evaluation.h"
#include "train/metrics.h"
#include "train/report/run_report.h"
#include "train/translation_task.h"

namespace heed::train {
namespace {

using Overrides = std::vector<std::string>;

// 40 pairs in batches of 8: an epoch has five.
Config config_with(Overrides overrides) {
  Overrides all = {"data.train=grammar:40:3-6", "data.validation=none",
                   "data.batch_size=8",         "model.width=6",
                   "run.log_every=1",           "train.steps=6",
                   "train.checkpoint_every=1",  "train.keep_checkpoints=100"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return parse_config("", "small", all);
}

TrainingEnd train(const Config& config, const RunFolder& run) { return Trainer(config, run).run(); }

std::string mistake(const Config& config, const RunFolder& run) {
  return test::error_of([&] { train(config, run); });
}

// As if the run had been killed before its update `step` was saved.
void forget_from(const RunFolder& run, int64_t step) {
  for (const int64_t saved : run.checkpoint_steps()) {
    if (saved >= step) {
      std::filesystem::remove(run.checkpoint_path(saved));
    }
  }
}

std::vector<MetricsEvent> training_lines(const RunFolder& run) {
  std::vector<MetricsEvent> lines;
  for (MetricsEvent& event : read_metrics(run.metrics_path())) {
    if (event.event == "train") {
      lines.push_back(std::move(event));
    }
  }
  return lines;
}

std::vector<double> values_of(const RunFolder& run, const std::string& name) {
  std::vector<double> values;
  for (const MetricsEvent& line : training_lines(run)) {
    values.push_back(line.value(name));
  }
  return values;
}

class TrainerRuns : public testing::Test {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  void TearDown() override { log::set_level(log::Level::info); }
  RunFolder run(const std::string& name) const { return RunFolder(folder_ / name); }

  test::TemporaryFolder folder_;
};

TEST_F(TrainerRuns, ChangedPairsAreNotGoneOnWith) {
  write_file("test", folder_ / "a.tsv", "a b\tc d\nb\td\na\tc\n");
  const Config config = config_with({"data.train=" + (folder_ / "a.tsv")});
  ASSERT_EQ(train(config, run("pairs")), TrainingEnd::finished);
  EXPECT_EQ(mistake(config, run("pairs")), "no error");
  Checkpoint saved = run("pairs").load_latest();
  const std::string before = std::exchange(saved.training_data, "");
  write_file("test", folder_ / "a.tsv", "a b\tc d\nb\td\na\td\n");
  const std::string now = TranslationTask(config, &saved).checkpoint().training_data;
  EXPECT_EQ(before.substr(0, 13), "3 pairs, hash");
  EXPECT_EQ(mistake(config, run("pairs")),
            "[run] " + (folder_ / "a.tsv") + " is not what " + saved.path +
                " was trained on: it was " + before + ", it is " + now +
                "; take the change back, or train anew in another folder (--run)");
}

// Each is opened once: what comes after the training does without.
TEST_F(TrainerRuns, CorporaMayBePipes) {
  const std::string pairs = "a b\tc d\nb\td\na\tc\n";
  const auto report_of = [&](const std::string& name, const Overrides& overrides) {
    train(config_with(overrides), run(name));
    return run_report(name, run(name).load_best(), read_metrics(run(name).metrics_path()));
  };
  const std::string samples = "<h2>Samples</h2>";
  {
    const test::Pipe pipe(folder_ / "train", pairs);
    const std::string page = report_of("learned", {"data.train=" + (folder_ / "train")});
    EXPECT_NE(page.find(">Negative log-likelihood<"), std::string::npos);
    EXPECT_EQ(page.find(samples), std::string::npos);
  }
  const test::Pipe pipe(folder_ / "validation", pairs);
  EXPECT_EQ(report_of("validated", {"data.validation=" + (folder_ / "validation")}).find(samples),
            std::string::npos);
  EXPECT_NE(report_of("made up", {}).find(samples), std::string::npos);
}

class Resume : public TrainerRuns, public testing::WithParamInterface<Overrides> {};

// Wherever a run is cut, within an epoch or at its end, it comes to the same bytes.
TEST_P(Resume, ComesToTheSameBytes) {
  const Config config = config_with(GetParam());
  const RunFolder straight = run("straight");
  ASSERT_EQ(train(config, straight), TrainingEnd::finished);
  const std::string expected = read_file("test", straight.last_path());
  const std::vector<double> losses = values_of(straight, "loss");
  ASSERT_EQ(losses.size(), 6u);
  for (int64_t cut = 1; cut <= 6; ++cut) {
    const RunFolder resumed = run("cut" + std::to_string(cut));
    std::filesystem::copy(straight.path(), resumed.path(),
                          std::filesystem::copy_options::recursive);
    forget_from(resumed, cut);
    EXPECT_EQ(train(config, resumed), TrainingEnd::finished);
    EXPECT_TRUE(read_file("test", resumed.last_path()) == expected) << "cut before step " << cut;
    EXPECT_EQ(values_of(resumed, "loss"), losses);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Resume,
    testing::Values(
        Overrides{"train.optimizer=adam", "model.dropout=0.3", "train.accumulate=2"},
        Overrides{"train.optimizer=adadelta", "model.dropout=0.3", "train.accumulate=2"},
        Overrides{"train.optimizer=sgd", "train.momentum=0.9"},
        Overrides{"model.kind=transformer", "model.width=8", "model.heads=2", "model.layers=1",
                  "model.tie_embeddings=true", "data.shared_vocabulary=true"},
        Overrides{"train.optimizer=adamw", "train.schedule=plateau", "train.validate_every=1",
                  "train.plateau_patience=1", "train.learning_rate=0.5",
                  "data.validation=grammar:10:3-6"}),
    [](const auto& tested) {
      const std::string& first = tested.param.front();
      return first.substr(first.find('=') + 1);
    });

// Log lines and checkpoints apart from each other and from most updates, each of which is told
// later.
TEST_F(TrainerRuns, GoesOnFromTheMiddleOfALogLine) {
  const Config config = config_with(
      {"model.dropout=0.3", "run.log_every=4", "train.steps=12", "train.checkpoint_every=5"});
  const RunFolder straight = run("straight");
  train(config, straight);
  EXPECT_EQ(straight.checkpoint_steps(), (std::vector<int64_t>{12, 10, 5, 0}));
  const std::vector<double> losses = values_of(straight, "loss");
  EXPECT_EQ(losses.size(), 3U);
  for (const int64_t cut : {12, 10, 5}) {
    forget_from(straight, cut);
    EXPECT_EQ(train(config, straight), TrainingEnd::finished);
    EXPECT_EQ(values_of(straight, "loss"), losses) << "cut before step " << cut;
  }
  // As if each had been told at once.
  const RunFolder often = run("often");
  train(config_with({"model.dropout=0.3", "train.steps=12"}), often);
  const Checkpoint rarely = straight.load_latest();
  const Checkpoint at_once = often.load_latest();
  ASSERT_EQ(rarely.weights.size(), at_once.weights.size());
  for (size_t i = 0; i < rarely.weights.size(); ++i) {
    EXPECT_EQ(rarely.weights[i].tensor.to_doubles(), at_once.weights[i].tensor.to_doubles());
  }
}

TEST_F(TrainerRuns, AStopThatWasAskedForChangesNothing) {
  const Config config = config_with({"model.dropout=0.3", "run.log_every=4"});
  const RunFolder straight = run("straight");
  train(config, straight);
  const RunFolder stopped = run("stopped");
  train(config, stopped);
  forget_from(stopped, 4);
  {
    Trainer trainer(config, stopped);
    request_stop();
    EXPECT_EQ(trainer.run(), TrainingEnd::interrupted);
  }
  EXPECT_EQ(stopped.load_latest().state.step, 3);
  EXPECT_EQ(train(config, stopped), TrainingEnd::finished);
  EXPECT_TRUE(read_file("test", stopped.last_path()) == read_file("test", straight.last_path()));
}

TEST_F(TrainerRuns, AFinishedRunGoesOnWhenMoreStepsAreAskedFor) {
  const RunFolder straight = run("straight");
  train(config_with({}), straight);
  const RunFolder longer = run("longer");
  train(config_with({"train.steps=3"}), longer);
  EXPECT_EQ(longer.load_latest().state.step, 3);
  const auto before = std::filesystem::last_write_time(longer.last_path());
  EXPECT_EQ(train(config_with({"train.steps=3"}), longer), TrainingEnd::finished);
  EXPECT_EQ(std::filesystem::last_write_time(longer.last_path()), before);
  EXPECT_EQ(train(config_with({}), longer), TrainingEnd::finished);
  EXPECT_TRUE(read_file("test", longer.last_path()) == read_file("test", straight.last_path()));
}

TEST_F(TrainerRuns, PatienceEndsARun) {
  const RunFolder folder = run("patient");
  const Overrides hopeless = {"train.learning_rate=1e-30", "train.validate_every=1",
                              "data.validation=grammar:10:3-6", "train.best_by=loss",
                              "train.steps=100"};
  Overrides patient = hopeless;
  patient.emplace_back("train.patience=3");
  EXPECT_EQ(train(config_with(patient), folder), TrainingEnd::finished);
  EXPECT_EQ(folder.load_latest().state.step, 4);
  EXPECT_EQ(train(config_with(patient), folder), TrainingEnd::finished);
  EXPECT_EQ(folder.load_latest().state.step, 4) << "it stays ended";
  EXPECT_EQ(folder.load_best().state.step, 1);
}

// So early every BLEU is noise.
TEST_F(TrainerRuns, OfEquallyGoodWeightsThoseWithTheLeastLossAreBest) {
  const RunFolder folder = run("early");
  train(config_with({"train.validate_every=2", "data.validation=grammar:10:3-6", "train.steps=8"}),
        folder);
  int64_t least = 0;
  double loss = 1e9;
  for (const MetricsEvent& event : read_metrics(folder.metrics_path())) {
    if (event.event == "validation" && event.value("nll") < loss) {
      loss = event.value("nll");
      least = event.step;
    }
  }
  const TrainingState state = folder.load_latest().state;
  EXPECT_GT(least, 2);
  EXPECT_EQ(state.best_step, least);
  EXPECT_EQ(state.best, 0);
  EXPECT_EQ(state.best_loss, loss);
}

TEST_F(TrainerRuns, ARunFolderIsNoFile) {
  const RunFolder folder = run("file");
  write_file("test", folder.path(), "text");
  EXPECT_EQ(mistake(config_with({}), folder),
            "[run] " + folder.path() +
                " is a file, a folder is expected: name another one with "
                "--run");
}

TEST_F(TrainerRuns, TheLastCheckpointIsOneFileWithTheBestWhenItIsThat) {
  const RunFolder folder = run("best");
  train(config_with({"train.validate_every=6", "data.validation=grammar:10:3-6"}), folder);
  EXPECT_EQ(folder.load_latest().state.best_step, 6);
  EXPECT_TRUE(std::filesystem::equivalent(folder.best_path(), folder.last_path()));
}

TEST_F(TrainerRuns, ChangesThatBreakTheContinuationAreRefused) {
  const RunFolder folder = run("begun");
  train(config_with({}), folder);
  const std::string config_file = read_file("test", folder.config_path());
  const Config other =
      config_with({"data.batch_size=4", "train.learning_rate=0.5", "train.keep_checkpoints=1"});
  EXPECT_EQ(mistake(other, folder),
            "[run] " + folder.path() +
                " was begun with another config; go on as it was (heed "
                "train " +
                folder.path() +
                "), train anew in another folder (--run), or make a new run "
                "from it (heed train " +
                folder.path() +
                " --branch NEW_RUN):\n"
                "  data.batch_size was 8, now 4\n"
                "  train.learning_rate was 0.001, now 0.5");
  EXPECT_EQ(read_file("test", folder.config_path()), config_file);
}

// The same update, however the batch is split. 16 pairs are one step, whatever their order.
TEST_F(TrainerRuns, AccumulatedBatchesAreOneLargeBatch) {
  const Overrides common = {"data.train=grammar:16:3-6", "train.learning_rate=0.05",
                            "train.label_smoothing=0.1"};
  Overrides large = common;
  large.emplace_back("data.batch_size=16");
  Overrides split = common;
  split.insert(split.end(), {"data.batch_size=4", "train.accumulate=4"});
  train(config_with(large), run("large"));
  train(config_with(split), run("split"));
  for (const char* name : {"loss", "nll", "gradient_norm"}) {
    const auto expected = values_of(run("large"), name);
    ASSERT_EQ(expected.size(), 6u);
    test::expect_close(values_of(run("split"), name), expected, 1e-5);
  }
  const auto losses = values_of(run("large"), "loss");
  EXPECT_LT(losses.back(), losses.front() - 0.1) << "it learns";
}

// With all pairs in one batch and weights that stand still, the log says what evaluation measures.
TEST_F(TrainerRuns, LogsTheLossOfEvaluation) {
  const Config config =
      config_with({"data.batch_size=40", "train.learning_rate=1e-30", "train.label_smoothing=0.2",
                   "train.steps=4", "run.log_every=2"});
  Trainer trainer(config, run("logged"));
  trainer.run();
  Translator& translator = dynamic_cast<TranslationTask&>(trainer.task()).translator();
  const CorpusLoss expected = corpus_loss(
      translator, encode_corpus(config, translator.text,
                                load_corpus(config, config.data.train, data::Split::train),
                                CorpusUse::training));
  const double loss = expected.loss_per_token();
  const double nll = expected.nll_per_token();
  EXPECT_GT(std::abs(loss - nll), 1e-4) << "smoothing tells them apart";
  test::expect_close(values_of(run("logged"), "loss"), {loss, loss}, 1e-6);
  test::expect_close(values_of(run("logged"), "nll"), {nll, nll}, 1e-6);
}

TEST_F(TrainerRuns, EveryEpochIsShuffledAnew) {
  train(config_with({"train.learning_rate=1e-30", "train.steps=10"}), run("epochs"));
  const auto losses = values_of(run("epochs"), "loss");
  ASSERT_EQ(losses.size(), 10u);
  EXPECT_NE(std::vector<double>(losses.begin(), losses.begin() + 5),
            std::vector<double>(losses.begin() + 5, losses.end()));
}

TEST_F(TrainerRuns, ClippingScalesTheUpdate) {
  const Overrides common = {"train.optimizer=sgd", "train.steps=1", "train.learning_rate=0.1"};
  Overrides clipped = common;
  clipped.emplace_back("train.clip_norm=0.01");
  Overrides free = common;
  free.emplace_back("train.clip_norm=0");
  Trainer clipped_trainer(config_with(clipped), run("clipped"));
  Trainer free_trainer(config_with(free), run("free"));
  const auto start = clipped_trainer.task().module().named_parameters();
  std::vector<std::vector<double>> before;
  for (const NamedTensor& parameter : start) {
    before.push_back(parameter.tensor.to_doubles());
  }
  clipped_trainer.run();
  free_trainer.run();
  const auto moved = [&](Trainer& trainer) {
    double squares = 0;
    const auto parameters = trainer.task().module().named_parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const auto after = parameters[i].tensor.to_doubles();
      for (size_t j = 0; j < after.size(); ++j) {
        squares += (after[j] - before[i][j]) * (after[j] - before[i][j]);
      }
    }
    return std::sqrt(squares);
  };
  const double norm = values_of(run("free"), "gradient_norm").front();
  EXPECT_GT(norm, 0.02);
  EXPECT_NEAR(moved(free_trainer), 0.1 * norm, 1e-4 * norm);
  EXPECT_NEAR(moved(clipped_trainer), 0.1 * 0.01, 1e-5);
}

// Weights of 1e38 make logits that overflow.
const Overrides exploding = {"train.optimizer=sgd", "train.learning_rate=1e38",
                             "train.clip_norm=0"};

// Whether each update is looked at before the next one begins, or after.
Overrides logging_and_saving(Overrides overrides, const std::string& every) {
  overrides.push_back("run.log_every=" + every);
  overrides.push_back("train.checkpoint_every=" + every);
  return overrides;
}

TEST_F(TrainerRuns, ANonFiniteLossStopsByName) {
  for (const auto& [every, saved] : {std::pair<std::string, int64_t>{"1", 1}, {"100", 0}}) {
    const RunFolder folder = run("stopping" + every);
    const std::string text = mistake(config_with(logging_and_saving(exploding, every)), folder);
    EXPECT_EQ(text,
              "[train] step 2: the loss is not finite; the first parameter with such a gradient is "
              "recurrent.weight; the step was not applied. Lower train.learning_rate, or find the "
              "op with --check-finite");
    EXPECT_EQ(folder.load_latest().state.step, saved) << "what was whole is kept";
  }
}

TEST_F(TrainerRuns, AValidationThatFailsLosesNoUpdate) {
  Overrides skipping = exploding;
  for (const char* key : {"train.nonfinite=skip", "data.validation=grammar:5:3-6",
                          "train.validate_every=4", "train.checkpoint_every=0"}) {
    skipping.emplace_back(key);
  }
  const RunFolder folder = run("validating");
  const std::string text =
      "[train] step 4: validation: [decode] the model gives NaN: its weights are not finite; the "
      "updates are saved, going on begins with this validation. Lower decode.batch_size where "
      "memory is short; where weights are not finite, train anew with a lower train.learning_rate";
  EXPECT_EQ(mistake(config_with(skipping), folder), text);
  EXPECT_EQ(folder.load_latest().state.step, 4);
  EXPECT_TRUE(folder.load_latest().state.validation_due);
  EXPECT_EQ(mistake(config_with(skipping), folder), text) << "when it goes on";
}

TEST_F(TrainerRuns, ANonFiniteLossIsSkipped) {
  Overrides skipping = exploding;
  skipping.emplace_back("train.nonfinite=skip");
  std::string expected;
  for (int step = 2; step <= 6; ++step) {
    expected += fmt::format(
        "[train] warning: step {}: the loss is not finite; the first parameter with such a "
        "gradient is recurrent.weight; skipped\n",
        step);
  }
  for (const std::string every : {"1", "100"}) {
    const RunFolder folder = run("skipping" + every);
    log::set_level(log::Level::warning);
    testing::internal::CaptureStderr();
    EXPECT_EQ(train(config_with(logging_and_saving(skipping, every)), folder),
              TrainingEnd::finished);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), expected);
    const TrainingState state = folder.load_latest().state;
    EXPECT_EQ(state.step, 6);
    EXPECT_EQ(state.optimizer_steps, 1);
    EXPECT_EQ(state.skipped_in_a_row, 5);
  }
}

TEST_F(TrainerRuns, AStretchOfSkippedUpdatesHasNoLoss) {
  Overrides skipping = exploding;
  skipping.insert(skipping.end(), {"train.nonfinite=skip", "run.log_every=1"});
  const RunFolder folder = run("skipping");
  train(config_with(skipping), folder);
  std::vector<double> losses;
  for (const MetricsEvent& event : read_metrics(folder.metrics_path())) {
    if (event.event == "train") {
      losses.push_back(event.value("loss"));
    }
  }
  ASSERT_EQ(losses.size(), 6U);
  EXPECT_GT(losses[0], 0);
  EXPECT_TRUE(std::isnan(losses[1])) << losses[1];
}

// Skipped updates are none for the optimizer; a resumed run has to know.
TEST_F(TrainerRuns, SkippedUpdatesAreRememberedOnResume) {
  Overrides overrides = exploding;
  overrides.insert(overrides.end(), {"train.optimizer=adam", "train.nonfinite=skip"});
  const Config config = config_with(overrides);
  const RunFolder straight = run("straight");
  train(config, straight);
  const int64_t applied = straight.load_latest().state.optimizer_steps;
  ASSERT_LT(applied, 6);
  const RunFolder resumed = run("resumed");
  train(config, resumed);
  forget_from(resumed, 5);
  train(config, resumed);
  EXPECT_TRUE(read_file("test", resumed.last_path()) == read_file("test", straight.last_path()));
}

}  // namespace
}  // namespace heed::train
