#include "train/config/config.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"
#include "train/config/nearest.h"

namespace heed::train {
namespace {

using Overrides = std::vector<std::string>;

std::string mistakes(const std::string& toml, const Overrides& overrides = {}) {
  return test::error_of<InputError>([&] { parse_config(toml, "toy.toml", overrides); });
}

class ConfigFile : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string mistakes_of(const std::string& path) const {
    return test::error_of<InputError>([&] { load_config(path); });
  }

  test::TemporaryFolder folder_;
};

TEST(Config, ReadsEveryType) {
  const Config config = parse_config(R"([run]
name = "first"
seed = 7
fused = false
[data]
train = ["a.en", "a.fr"]
validation = "none"
test = "grammar:30:3-15"
[model]
kind = "rnnencdec"
dropout = 0.25
[train]
clip_norm = 2
)",
                                     "toy.toml");
  EXPECT_EQ(config.run.name, "first");
  EXPECT_EQ(config.run.seed, 7);
  EXPECT_FALSE(config.run.fused);
  EXPECT_EQ(config.data.train, (CorpusName{"a.en", "a.fr"}));
  EXPECT_EQ(config.data.validation, CorpusName{});
  EXPECT_EQ(config.data.test, CorpusName{"grammar:30:3-15"});
  EXPECT_EQ(config.model.kind, "rnnencdec");
  EXPECT_EQ(config.model.dropout, 0.25);
  EXPECT_EQ(config.train.clip_norm, 2.0);
  EXPECT_EQ(config.train.optimizer, "adam");
}

TEST(Config, ResolvesWhatFollowsFromOtherKeys) {
  const Config plain = parse_config("", "examples/toy.toml");
  EXPECT_EQ(plain.run.name, "toy");
  EXPECT_EQ(plain.model.embedding_width, 256);
  EXPECT_EQ(plain.model.attention_width, 256);
  EXPECT_EQ(plain.model.ffn_width, 0);
  EXPECT_EQ(plain.train.epochs, 10);
  EXPECT_EQ(plain.train.learning_rate, 1e-3);
  EXPECT_EQ(plain.train.epsilon, 1e-8);

  const Config adadelta = parse_config(
      "", "toy.toml",
      {"model.kind=transformer", "model.width=32", "train.steps=5", "train.optimizer=adadelta"});
  EXPECT_EQ(adadelta.model.ffn_width, 128);
  EXPECT_EQ(adadelta.model.attention_width, 0);
  EXPECT_EQ(adadelta.train.epochs, 0);
  EXPECT_EQ(adadelta.train.learning_rate, 1.0);
  EXPECT_EQ(adadelta.train.epsilon, 1e-6);

  EXPECT_EQ(parse_config("", "toy.toml", {"train.optimizer=sgd"}).train.learning_rate, 0.1);
}

TEST(Config, OverridesTakeTomlOrPlainText) {
  const Config config =
      parse_config("[train]\nsteps = \"not looked at\"\n", "toy.toml",
                   {"train.steps=3", "train.steps=100", "train.learning_rate=1e-4",
                    "data.train=a b=c.tsv", R"(data.validation=["v.en", "v.fr"])",
                    R"(data.test="quoted.tsv")", "run.name=2024", "data.lowercase=true"});
  EXPECT_EQ(config.train.steps, 100);
  EXPECT_EQ(config.train.learning_rate, 1e-4);
  EXPECT_EQ(config.data.train, CorpusName{"a b=c.tsv"});
  EXPECT_EQ(config.data.validation, (CorpusName{"v.en", "v.fr"}));
  EXPECT_EQ(config.data.test, CorpusName{"quoted.tsv"});
  EXPECT_EQ(config.run.name, "2024");
  EXPECT_TRUE(config.data.lowercase);
}

TEST(Config, ReportsEveryMistakeAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(mistakes(R"([train]
stpes = 100
learning_rate = "fast"
learning_rat = 1
epochs = -1
epochs = 2
optimizer = "adma"
[modle]
width = 3
[model]
dropout = 1.0
heads = 8
)",
                     {"train.steps=abc", "decode.n_best=4"}),
            "[config] unknown key 'stpes' in [train], toy.toml:2; did you mean 'steps'?\n"
            "[config] train.learning_rate is a string, a number is expected: toy.toml:3\n"
            "[config] unknown key 'learning_rat' in [train], toy.toml:4; did you mean "
            "'learning_rate'?\n"
            "[config] train.epochs is -1, from 0 to 1000000 is expected: toy.toml:5\n"
            "[config] key 'epochs' is given twice, toy.toml:6\n"
            "[config] train.optimizer is \"adma\", one of \"sgd\", \"adam\", \"adamw\", "
            "\"adadelta\" is expected: toy.toml:7; did you mean \"adam\"?\n"
            "[config] unknown section 'modle', toy.toml:8; did you mean [model]?\n"
            "[config] model.dropout is 1.0, at least 0 and below 1 is expected: toy.toml:11\n"
            "[config] train.steps is a string, an integer is expected: --set train.steps=abc\n"
            "[config] model.heads has no effect with model.kind = \"rnnsearch\": toy.toml:12\n"
            "[config] decode.n_best = 4 is above decode.beam_size = 1: --set decode.n_best=4");
}

TEST(Config, NamesUnknownKeysAndSections) {
  EXPECT_EQ(mistakes("steps = 3\n"),
            "[config] key 'steps' stands outside of any section, toy.toml:1; did you mean 'steps' "
            "in [train]?");
  EXPECT_EQ(mistakes("[train]\nwidth = 3\n"),
            "[config] unknown key 'width' in [train], toy.toml:2; did you mean 'width' in "
            "[model]?");
  EXPECT_EQ(mistakes("[train]\ndropuot = 0.1\n"),
            "[config] unknown key 'dropuot' in [train], toy.toml:2; did you mean 'dropout' in "
            "[model]?");
  EXPECT_EQ(mistakes("[train]\nxyz = 3\n"),
            "[config] unknown key 'xyz' in [train], toy.toml:2; `heed config` lists all keys");
  EXPECT_EQ(mistakes("[train]\n\"a\\nb\" = 3\n"),
            "[config] unknown key 'a\\u000Ab' in [train], toy.toml:2; `heed config` lists all "
            "keys");
  EXPECT_EQ(mistakes("\n[zzzzzz]\n"), "[config] unknown section 'zzzzzz', toy.toml:2");
  EXPECT_EQ(mistakes("data = 5\n"),
            "[config] data is an integer, a section [data] is expected: toy.toml:1");
  EXPECT_EQ(mistakes("[[train]]\nsteps = 3\n"),
            "[config] train is an array, a section [train] is expected: toy.toml:1");
}

TEST(Config, NamesWrongTypes) {
  EXPECT_EQ(mistakes("[train]\nsteps = 1e3\n"),
            "[config] train.steps is a float, an integer is expected: "
            "toy.toml:2");
  EXPECT_EQ(mistakes("[run]\nfused = 1\n"),
            "[config] run.fused is an integer, true or false is expected: toy.toml:2");
  EXPECT_EQ(mistakes("[run]\nname = 2024-01-01\n"),
            "[config] run.name is a date or time, a string is expected: toy.toml:2");
  EXPECT_EQ(mistakes("[train.steps]\n"),
            "[config] train.steps is a section, an integer is expected: toy.toml:1");
  const std::string corpus =
      "a path, an array of two paths or a generator such as \"grammar:20000\" is expected: "
      "toy.toml:2";
  EXPECT_EQ(mistakes("[data]\ntrain = [\"a\"]\n"), "[config] data.train is an array, " + corpus);
  EXPECT_EQ(mistakes("[data]\ntrain = [\"a\", 3]\n"), "[config] data.train is an array, " + corpus);
  EXPECT_EQ(mistakes("[data]\ntrain = true\n"), "[config] data.train is a boolean, " + corpus);
}

TEST(Config, ChecksRanges) {
  EXPECT_EQ(mistakes("[model]\nlayers = 0\n"),
            "[config] model.layers is 0, from 1 to 1000 is expected: toy.toml:2");
  EXPECT_EQ(mistakes("[model]\nwidth = 9000000000000000000\n"),
            "[config] model.width is 9000000000000000000, from 1 to 65536 is expected: "
            "toy.toml:2");
  EXPECT_EQ(mistakes("[train]\nlearning_rate = nan\n"),
            "[config] train.learning_rate is nan, a finite number is expected: toy.toml:2");
  EXPECT_EQ(mistakes("[train]\nclip_norm = inf\n"),
            "[config] train.clip_norm is inf, a finite number is expected: toy.toml:2");
  EXPECT_EQ(mistakes("[train]\nschedule = \"plateau\"\nplateau_factor = 0\n"),
            "[config] train.plateau_factor is 0.0, above 0 and below 1 is expected: toy.toml:3");
  EXPECT_EQ(mistakes("[model]\ndropout = 0\n"), "no error");
}

TEST(Config, DefaultsFollowTheKindOfModel) {
  const Config transformer = parse_config("", "toy.toml", {"model.kind=transformer"});
  EXPECT_EQ(transformer.model.positions, "sinusoidal");
  EXPECT_EQ(transformer.model.norm_placement, "post");
  EXPECT_EQ(transformer.model.heads, 8);
  EXPECT_EQ(transformer.train.label_smoothing, 0.1);
  // A task without a model has the one that there is for it.
  const Config text = parse_config("", "toy.toml", {"data.task=language_model"});
  EXPECT_EQ(text.model.kind, "causal_lm");
  EXPECT_EQ(text.model.positions, "learned");
  EXPECT_EQ(text.model.norm_placement, "pre");
  EXPECT_TRUE(text.model.tie_embeddings);
  EXPECT_EQ(text.train.optimizer, "adamw");
  EXPECT_EQ(text.data.train, CorpusName{"sources"});
  EXPECT_EQ(text.data.test, CorpusName{"tail"});
  const Config files = parse_config(
      "", "toy.toml", {"model.kind=causal_lm", "data.validation=v.txt", "train.beta2=0.9"});
  EXPECT_EQ(files.data.task, "language_model");
  EXPECT_EQ(files.data.test, CorpusName{"v.txt"}) << "it follows the validation text";
  EXPECT_EQ(files.train.beta2, 0.9) << "what is given stays";
  EXPECT_EQ(parse_config("", "toy.toml", {"train.schedule=noam", "train.warmup_steps=9"})
                .train.learning_rate,
            1.0);
}

TEST(Config, OwnCorporaAreNotValidatedOnTheBuiltInOne) {
  const DataConfig grammar = parse_config("", "toy.toml", {"data.train=grammar:9:3-6"}).data;
  EXPECT_EQ(grammar.validation, CorpusName{"grammar:500"});
  EXPECT_EQ(grammar.test, CorpusName{"grammar:1000"});
  const DataConfig reverse = parse_config("", "toy.toml", {"data.train=reverse:9"}).data;
  EXPECT_EQ(reverse.validation, CorpusName{"reverse:500"});
  EXPECT_EQ(reverse.test, CorpusName{"reverse:1000"});
  const DataConfig own = parse_config("", "toy.toml", {"data.train=mine.tsv"}).data;
  EXPECT_TRUE(own.validation.empty() && own.test.empty());
  const DataConfig both =
      parse_config("", "toy.toml", {"data.train=mine.tsv", "data.test=grammar:7"}).data;
  EXPECT_EQ(both.test, CorpusName{"grammar:7"}) << "what is given stays";
}

TEST(Config, SaysHowToGiveACorpus) {
  EXPECT_EQ(mistakes("[data]\ntrain = \"\"\nvalidation = \"\"\n"),
            "[config] data.train is empty, a corpus is expected: toy.toml:2; give it by --set "
            "data.train=PATH\n"
            "[config] data.validation is empty, a corpus is expected: toy.toml:3; give it by --set "
            "data.validation=PATH (or none)");
}

TEST(Config, WordsBadOverrides) {
  EXPECT_EQ(mistakes("", {"steps"}),
            "[config] --set steps: SECTION.KEY=VALUE is expected, such as --set train.steps=100");
  EXPECT_EQ(mistakes("", {"steps=3"}),
            "[config] --set steps=3: SECTION.KEY=VALUE is expected, such as --set "
            "train.steps=100");
  EXPECT_EQ(mistakes("", {"train.step=3"}),
            "[config] unknown key 'step' in [train], --set train.step=3; did you mean 'steps'?");
  EXPECT_EQ(mistakes("", {"trian.steps=3"}),
            "[config] unknown section 'trian', --set trian.steps=3; did you mean [train]?");
  EXPECT_EQ(mistakes("", {"train.steps="}),
            "[config] train.steps is a string, an integer is expected: --set train.steps=");
  EXPECT_EQ(mistakes("", {"train.steps=99999999999999999999"}),
            "[config] train.steps is an integer beyond 64 bits: --set "
            "train.steps=99999999999999999999");
  EXPECT_EQ(parse_config("", "", {"run.name=99999999999999999999"}).run.name,
            "99999999999999999999")
      << "a name may look like one";
  EXPECT_EQ(mistakes("", {"run.name=a\xff"}),
            "[config] --set run.name holds bytes that are no UTF-8");
}

TEST(Config, WordsSyntaxErrors) {
  EXPECT_EQ(mistakes("[data]\ntrain = mine.tsv\n"),
            "[config] toy.toml:2:9 is not valid TOML: could not determine value type (in a value); "
            "text stands in quotes");
  EXPECT_EQ(mistakes("the cat\tle chat\n"),
            "[config] toy.toml:1:5 is not valid TOML: expected '=', saw 'c' (in a key-value pair); "
            "a config has lines of key = value, a corpus is named in one");
  EXPECT_EQ(mistakes("[run]\nname = toy\n"),
            "[config] toy.toml:2:9 is not valid TOML: expected 'true', saw 'to' (in a boolean); "
            "text stands in quotes");
  EXPECT_EQ(mistakes("[run\n"),
            "[config] toy.toml:1:5 is not valid TOML: expected ']', saw '\\n' (in a table header)");
  const std::string control =
      "control characters other than TAB (U+0009) are explicitly prohibited (in a ";
  EXPECT_EQ(mistakes("[run]\nname = \"toy\n"),
            "[config] toy.toml:2:12 is not valid TOML: unescaped " + control +
                "string); is a closing quote missing?");
  EXPECT_EQ(mistakes("[run]\nname = 'toy\n"),
            "[config] toy.toml:2:12 is not valid TOML: " + control +
                "literal string); is a closing quote missing?");
  EXPECT_EQ(mistakes("[run]\nname = \"toy"),
            "[config] toy.toml:2:12 is not valid TOML: encountered end-of-file (in a string); is a "
            "closing quote missing?");
  EXPECT_EQ(
      mistakes("[run]\nname = \"t\\oy\"\n"),
      "[config] toy.toml:2:11 is not valid TOML: unknown escape sequence '\\o' (in a string)");
  // An assertion of toml++ where it is compiled in rather than linked.
  EXPECT_EQ(mistakes("[.]\n"),
            "[config] toy.toml:1:2 is not valid TOML: expected bare key starting character or "
            "string delimiter, saw '.' (in a key)");
  EXPECT_EQ(mistakes("[run]\nname = \"\xff\"\n"), "[config] toy.toml:2:8 is not valid UTF-8");
  EXPECT_EQ(mistakes("[train]\nsteps = 3\n[run]\n[train]\nepochs = 3\n"),
            "[config] section 'train' is given twice, toy.toml:4");
  // An override's mistake is told beside a file that cannot be read.
  EXPECT_EQ(mistakes("[run\n", {"train.x=1"}),
            "[config] toy.toml:1:5 is not valid TOML: expected ']', saw '\\n' (in a table header)\n"
            "[config] unknown key 'x' in [train], --set train.x=1; `heed config` lists all keys");
}

TEST_F(ConfigFile, WordsFilesThatAreNone) {
  EXPECT_EQ(mistakes_of(folder_ / "none.toml"),
            "[config] " + (folder_ / "none.toml") + " does not exist");
  EXPECT_EQ(mistakes_of(folder_.path()),
            "[config] " + folder_.path() + " is a folder, a TOML file is expected");
  const std::string empty = write("empty.toml", " \r\n\t\n");
  EXPECT_EQ(mistakes_of(empty),
            "[config] " + empty + " is empty; `heed config --toml` prints a file to start from");
  const std::string large = write("large.toml", std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(mistakes_of(large), "[config] " + large + " is over 1 MiB, no config is that long");
  const std::string crlf = write("crlf.toml", "\xef\xbb\xbf[train]\r\nsteps = 3\r\nstep = 4\r\n");
  EXPECT_EQ(mistakes_of(crlf),
            "[config] unknown key 'step' in [train], " + crlf + ":3; did you mean 'steps'?");
}

TEST(Config, WrittenTomlReadsBackAsTheSame) {
  const std::vector<Overrides> configs = {
      {},
      {"model.kind=transformer", "model.heads=8", "train.schedule=cosine", "train.steps=100"},
      {"model.kind=causal_lm", "model.positions=rotary", "data.validation=v.txt",
       "data.tokenizer=subword"},
      {"train.optimizer=sgd", "train.momentum=0.9", "data.validation=none"},
      // What is compared follows from other keys.
      {"train.schedule=plateau", "train.optimizer=adadelta", "train.min_learning_rate=0.5"},
      {"run.name=a \"quoted\" \\ name\t\x7f", R"(data.train=["é", "b"])",
       "train.learning_rate=1.2345678901234567e-5", "run.seed=9223372036854775807"},
  };
  for (const Overrides& overrides : configs) {
    const Config config = parse_config("", "toy.toml", overrides);
    const std::string text = write_toml(config);
    const Config again = parse_config(text, "other.toml");
    EXPECT_EQ(write_toml(again), text);
    EXPECT_TRUE(config_differences(config, again).empty());
  }
}

TEST(Config, WrittenDefaultsCanBeUsedAsAFile) {
  const Config config = parse_config(write_toml(Config()), "toy.toml");
  EXPECT_TRUE(config_differences(config, parse_config("", "toy.toml")).empty());
}

TEST(Config, WritesCommentsAndMarksWhatHasNoEffect) {
  const std::string text = write_toml(parse_config("", "toy.toml"));
  EXPECT_NE(text.find("\n[model]  # the network\n"
                      "kind = \"rnnsearch\"                # the architecture: \"rnnsearch\" | "
                      "\"rnnencdec\" | \"transformer\" | \"causal_lm\"\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n# heads = 4                       # attention heads; only with model.kind "
                      "= \"transformer\" | \"causal_lm\"\n"),
            std::string::npos)
      << text;
}

TEST(Config, DescribesEveryKey) {
  const std::string text = describe_config();
  EXPECT_NE(text.find("\n  dropout = 0.0                       number, at least 0 and below 1\n"
                      "      share of activations dropped in training\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n  momentum = 0.0                      number, at least 0 and below 1\n"
                      "      share of the last update that is kept; only with train.optimizer = "
                      "\"sgd\"\n"),
            std::string::npos)
      << text;
}

TEST(Config, DescribesTheDefaultsOfEachKind) {
  EXPECT_NE(describe_config().find(
                "\n  layers = 1                          integer, from 1 to "
                "1000\n      layers; of a translator, of encoder and decoder each\n      "
                "transformer: 3, causal_lm: 4\n"),
            std::string::npos)
      << describe_config();
}

TEST(Config, TellsWhichKeysDiffer) {
  const Config before = parse_config("", "toy.toml");
  const Config after = parse_config("", "toy.toml", {"train.epochs=20", "run.seed=2"});
  const auto differences = config_differences(before, after);
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].key, "run.seed");
  EXPECT_EQ(differences[0].before, "1");
  EXPECT_EQ(differences[0].after, "2");
  EXPECT_FALSE(differences[0].resumable);
  EXPECT_EQ(differences[1].key, "train.epochs");
  EXPECT_TRUE(differences[1].resumable);
}

TEST(Config, ExamplesAreValid) {
  const std::string folder = HEED_EXAMPLES;
  const Overrides corpora = {"data.train=a.tsv", "data.validation=b.tsv", "data.test=c.tsv"};
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".toml") {
      const Config config = load_config(entry.path(), corpora);
      EXPECT_EQ(config.run.name, entry.path().stem());
      ++count;
    }
  }
  EXPECT_GE(count, 11u);
  EXPECT_EQ(load_config(folder + "/toy_translator.toml").data.train, CorpusName{"grammar:20000"});
}

TEST(Nearest, FindsSmallSlips) {
  const std::vector<std::string_view> words = {"train", "translate", "evaluate", "beam_size"};
  EXPECT_EQ(nearest("trian", words), "train");
  EXPECT_EQ(nearest("tran", words), "train");
  EXPECT_EQ(nearest("evalute", words), "evaluate");
  EXPECT_EQ(nearest("beam", words), "beam_size");
  EXPECT_EQ(nearest("xyz", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(1000, 't'), words), "");
}

}  // namespace
}  // namespace heed::train
