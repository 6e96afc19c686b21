// What a config may not say although each of its values alone may be said.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "train/config/config.h"

namespace heed::train {
namespace {

using Overrides = std::vector<std::string>;

std::string mistakes(const std::string& toml, const Overrides& overrides = {}) {
  return test::error_of<InputError>([&] { parse_config(toml, "toy.toml", overrides); });
}

TEST(ConfigRules, RefusesKeysWithoutEffectOnlyWhereTheyAreGiven) {
  EXPECT_EQ(mistakes("[data]\nbatch_size = 64\nbatch_tokens = 2000\n"),
            "[config] data.batch_size has no effect with data.batch_tokens = 2000: toy.toml:2");
  EXPECT_EQ(mistakes("[data]\nbatch_tokens = 2000\n"), "no error");
  EXPECT_EQ(mistakes("[train]\nmin_learning_rate = 1e-4\n"),
            "[config] train.min_learning_rate has no effect with train.schedule = \"constant\": "
            "toy.toml:2");
  EXPECT_EQ(mistakes("[train]\nwarmup_steps = 10\n"), "no error") << "every schedule warms up";
  EXPECT_EQ(mistakes("", {"data.validation=none", "train.patience=3"}),
            "[config] train.patience has no effect with data.validation = \"none\": --set "
            "train.patience=3");
  EXPECT_EQ(mistakes("[run]\nprecision = \"bf16\"\n"),
            "[config] run.precision has no effect with run.device = \"cpu\": toy.toml:2");
  EXPECT_EQ(mistakes("[run]\ndevice = \"cuda\"\nprecision = \"bf16\"\n"), "no error");
  EXPECT_EQ(mistakes("[train]\nmomentum = 0.9\n"),
            "[config] train.momentum has no effect with train.optimizer = \"adam\": toy.toml:2");
  EXPECT_EQ(mistakes("[model]\nkind = \"rnnencdec\"\nattention_width = 8\n"),
            "[config] model.attention_width has no effect with model.kind = \"rnnencdec\": "
            "toy.toml:3");
  EXPECT_EQ(mistakes("[model]\nkind = \"transformer\"\ncontext = 6\n"),
            "[config] model.context has no effect with model.kind = \"transformer\" and "
            "model.positions = \"sinusoidal\": toy.toml:3");
  EXPECT_EQ(mistakes("[model]\nkind = \"transformer\"\npositions = \"learned\"\ncontext = 99\n"),
            "no error");
  // Nor what follows from a contradiction.
  EXPECT_EQ(mistakes("[data]\ntask = \"language_model\"\ntrain = \"grammar:9\"\n[model]\n"
                     "kind = \"transformer\"\n"),
            "[config] model.kind = \"transformer\" needs data.task = \"translation\", which is "
            "\"language_model\": toy.toml:5, toy.toml:2");
  // What depends on a refused value is not judged.
  EXPECT_EQ(mistakes("[model]\nkind = \"transformr\"\nheads = 8\n"),
            "[config] model.kind is \"transformr\", one of \"rnnsearch\", \"rnnencdec\", "
            "\"transformer\", \"causal_lm\" is expected: toy.toml:2; did you mean "
            "\"transformer\"?");
}

TEST(ConfigRules, RefusesContradictions) {
  EXPECT_EQ(mistakes("[train]\nepochs = 0\n"),
            "[config] train.steps and train.epochs are both 0, one of them has to say when to "
            "stop: toy.toml:2");
  EXPECT_EQ(mistakes("[train]\nsteps = 100\nepochs = 2\n"),
            "[config] train.steps = 100 and train.epochs = 2 both say when to stop, leave one out: "
            "toy.toml:3, toy.toml:2");
  EXPECT_EQ(mistakes("[train]\nsteps = 100\nepochs = 0\n"), "no error");
  EXPECT_EQ(mistakes("[model]\nkind = \"causal_lm\"\n[data]\ntask = \"translation\"\n"),
            "[config] model.kind = \"causal_lm\" needs data.task = \"language_model\", which is "
            "\"translation\": toy.toml:2, toy.toml:4");
  EXPECT_EQ(mistakes("[model]\nkind = \"rnnsearch\"\n[data]\ntask = \"language_model\"\n"),
            "[config] model.kind = \"rnnsearch\" needs data.task = \"translation\", which is "
            "\"language_model\": toy.toml:2, toy.toml:4");
  EXPECT_EQ(mistakes("[model]\nkind = \"transformer\"\nwidth = 250\n"),
            "[config] model.width = 250 is no multiple of model.heads = 8: toy.toml:3");
  EXPECT_EQ(mistakes("[model]\nkind = \"causal_lm\"\nwidth = 12\npositions = \"rotary\"\n"),
            "[config] model.positions = \"rotary\" turns pairs of dimensions, a head has 3 "
            "(model.width = 12 / model.heads = 4): toy.toml:4, toy.toml:3");
  EXPECT_EQ(mistakes("[model]\nkind = \"transformer\"\nheads = 1\nwidth = 7\n"),
            "[config] model.positions = \"sinusoidal\" needs an even width, model.width is 7: "
            "toy.toml:4");
  EXPECT_EQ(mistakes("[model]\nkind = \"transformer\"\npositions = \"learned\"\ncontext = 50\n"),
            "[config] data.max_length = 50 and the end of a sentence do not fit into model.context "
            "= 50, the positions that are learned: toy.toml:4");
  EXPECT_EQ(mistakes("[train]\nschedule = \"noam\"\n"),
            "[config] train.schedule = \"noam\" needs train.warmup_steps, such as 4000: "
            "toy.toml:2");
  EXPECT_EQ(mistakes("", {"train.schedule=plateau", "data.validation=none"}),
            "[config] train.schedule = \"plateau\" needs a validation corpus, data.validation is "
            "\"none\": --set train.schedule=plateau, --set data.validation=none");
  EXPECT_EQ(mistakes("[train]\nschedule = \"cosine\"\nlearning_rate = 0.1\n"
                     "min_learning_rate = 0.5\n"),
            "[config] train.min_learning_rate = 0.5 is above train.learning_rate = 0.1: "
            "toy.toml:4, toy.toml:3");
  EXPECT_EQ(mistakes("", {"train.schedule=cosine", "train.min_learning_rate=0.5"}),
            "[config] train.min_learning_rate = 0.5 is above train.learning_rate = 0.001: --set "
            "train.min_learning_rate=0.5");
  EXPECT_EQ(
      mistakes("[decode]\nmin_length = 9\nmax_length = 5\n"),
      "[config] decode.min_length = 9 is above decode.max_length = 5: toy.toml:2, toy.toml:3");
  EXPECT_EQ(mistakes("[data]\nmax_ratio = 0.5\n"),
            "[config] data.max_ratio is 0.5, 0 or at least 1 is expected: toy.toml:2");
  EXPECT_EQ(mistakes("[data]\ntrain = \"none\"\n"),
            "[config] data.train is \"none\", there is nothing to learn from: toy.toml:2");
  EXPECT_EQ(mistakes("[run]\nname = \"a/b\"\n"),
            "[config] run.name is \"a/b\", a folder name without '/' or NUL is "
            "expected: toy.toml:2");
}

// The file and the command line may contradict each other: both places are named.
TEST(ConfigRules, NamesEveryPlaceThatHasAPart) {
  EXPECT_EQ(mistakes("[model]\nkind = \"transformer\"\nwidth = 64\n", {"model.heads=7"}),
            "[config] model.width = 64 is no multiple of model.heads = 7: toy.toml:3, --set "
            "model.heads=7");
  EXPECT_EQ(mistakes("[data]\ntrain = \"a.tsv\"\n", {"data.validation=tail"}),
            "[config] data.validation = \"tail\" is a running text, data.task = \"translation\" "
            "needs pairs of sentences: --set data.validation=tail");
}

TEST(ConfigRules, AnOverriddenEndTakesThePlaceOfTheOther) {
  const std::string by_steps = "[train]\nsteps = 100\n", by_epochs = "[train]\nepochs = 3\n";
  const auto end = [](const std::string& toml, const Overrides& overrides) {
    const TrainConfig train = parse_config(toml, "toy.toml", overrides).train;
    return std::pair(train.steps, train.epochs);
  };
  EXPECT_EQ(end(by_epochs, {"train.steps=5"}), std::pair(int64_t{5}, int64_t{0}));
  EXPECT_EQ(end(by_steps, {"train.epochs=5"}), std::pair(int64_t{0}, int64_t{5}));
  EXPECT_EQ(end(by_steps, {"train.steps=0"}), std::pair(int64_t{0}, int64_t{10}));
  EXPECT_EQ(mistakes(by_steps, {"train.steps=5", "train.epochs=5"}),
            "[config] train.steps = 5 and train.epochs = 5 both say when to stop, leave one out: "
            "--set train.epochs=5, --set train.steps=5");
}

TEST(ConfigRules, TellsTheCorporaOfTheTasksApart) {
  EXPECT_EQ(mistakes("[data]\ntrain = \"sources\"\n"),
            "[config] data.train = \"sources\" is a running text, data.task = \"translation\" "
            "needs pairs of sentences: toy.toml:2");
  EXPECT_EQ(mistakes("[data]\nvalidation = \"tail\"\n"),
            "[config] data.validation = \"tail\" is a running text, data.task = \"translation\" "
            "needs pairs of sentences: toy.toml:2");
  const std::string language_model = "[data]\ntask = \"language_model\"\n";
  EXPECT_EQ(mistakes(language_model + "train = \"grammar:200\"\n"),
            "[config] data.train holds pairs of sentences, data.task = \"language_model\" needs "
            "one running text: toy.toml:3");
  EXPECT_EQ(mistakes(language_model + "test = [\"a\", \"b\"]\n"),
            "[config] data.test holds pairs of sentences, data.task = \"language_model\" needs "
            "one running text: toy.toml:3");
  EXPECT_EQ(mistakes(language_model + "train = \"tail\"\n"),
            "[config] data.train = \"tail\" names no text: toy.toml:3");
  EXPECT_EQ(mistakes(language_model + "validation = \"a.txt\"\ntest = \"tail\"\n"),
            "[config] data.test = \"tail\" needs data.validation = \"tail\", or it would be "
            "learned from: toy.toml:4");
  EXPECT_EQ(mistakes(language_model + "validation = \"a.txt\"\nvalidation_share = 0.2\n"),
            "[config] data.validation_share has no effect with data.validation = \"a.txt\": "
            "toy.toml:4");
}

TEST(ConfigRules, TellsTheKeysOfTheTasksApart) {
  EXPECT_EQ(mistakes("[data]\nwindows = \"random\"\n[decode]\ntop_k = 3\n"),
            "[config] data.windows has no effect with data.task = \"translation\": toy.toml:2\n"
            "[config] decode.top_k has no effect with data.task = \"translation\": toy.toml:4");
  EXPECT_EQ(mistakes("[data]\ntask = \"language_model\"\nmax_length = 9\n[train]\nbest_by = "
                     "\"loss\"\n[decode]\nbeam_size = 3\ntop_p = 0\n"),
            "[config] decode.top_p is 0.0, above 0 and at most 1 is expected: toy.toml:8\n"
            "[config] data.max_length has no effect with data.task = \"language_model\": "
            "toy.toml:3\n"
            "[config] train.best_by has no effect with data.task = \"language_model\": toy.toml:5\n"
            "[config] decode.beam_size has no effect with data.task = \"language_model\": "
            "toy.toml:7");
  EXPECT_EQ(mistakes("[model]\nkind = \"transformer\"\ninitialization = \"paper\"\n"),
            "[config] model.initialization has no effect with model.kind = \"transformer\": "
            "toy.toml:3");
}

}  // namespace
}  // namespace heed::train
