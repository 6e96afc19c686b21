#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>

#include "core/file.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/run_program.h"

// The commands on a language model: runs/letters; and runs/pairs, a Transformer that translates.
namespace heed::test {
namespace {

using nlohmann::json;

constexpr const char* letters_config = R"([data]
task = "language_model"
train = "letters.txt"
[model]
width = 8
layers = 1
heads = 2
context = 16
[train]
steps = 4
validate_every = 2
)";

constexpr const char* pairs_config = R"([data]
train = "grammar:60:3-6"
validation = "grammar:10:3-6"
test = "grammar:10:3-6"
[model]
kind = "transformer"
width = 8
layers = 2
heads = 2
positions = "learned"
context = 60
[train]
steps = 2
)";

class TextCommands : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    std::string text;
    for (int i = 0; i < 100; ++i) {
      text += static_cast<char>('a' + i * i % 7);
      text += " b\n";
    }
    write_file("test", *folder_ / "letters.txt", text);
    write_file("test", *folder_ / "letters.toml", letters_config);
    write_file("test", *folder_ / "pairs.toml", pairs_config);
    letters_ = run({"train", "letters.toml"});
    pairs_ = run({"train", "pairs.toml"});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    ASSERT_EQ(letters_.code, 0) << letters_.err;
    ASSERT_EQ(pairs_.code, 0) << pairs_.err;
  }

  static Outcome run(const Arguments& arguments, const std::string& input = "") {
    return Program(*folder_, arguments, input).wait();
  }
  static Outcome generate(const Arguments& arguments, const std::string& input = "") {
    Arguments all = {"generate", "runs/letters"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run(all, input);
  }
  static void expect_refused(const Arguments& arguments, const std::string& text,
                             const std::string& input = "") {
    const Outcome outcome = run(arguments, input);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, text);
  }
  static void expect_generate_refused(const Arguments& arguments, const std::string& text,
                                      const std::string& input = "") {
    Arguments all = {"generate", "runs/letters"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    expect_refused(all, text, input);
  }

  static TemporaryFolder* folder_;
  static Outcome letters_;
  static Outcome pairs_;
};
TemporaryFolder* TextCommands::folder_ = nullptr;
Outcome TextCommands::letters_;
Outcome TextCommands::pairs_;

TEST_F(TextCommands, GenerateGoesOnWithThePrompt) {
  const Outcome outcome = generate({"--prompt", "a b\n", "--tokens", "40"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.size(), 45U) << "4 given, 40 drawn, a line feed";
  EXPECT_TRUE(outcome.out.starts_with("a b\n"));
  EXPECT_EQ(generate({"--prompt", "-", "--tokens", "40"}, "a b\n").out, outcome.out);
  EXPECT_EQ(generate({"--prompt", "a b\n", "--tokens", "40", "--seed", "1"}).out, outcome.out)
      << "the run's seed is 1";
  EXPECT_NE(generate({"--prompt", "a b\n", "--tokens", "40", "--seed", "2"}).out, outcome.out);
  EXPECT_EQ(generate({"--tokens", "7"}).out.size(), 8U) << "what stands for no prompt is not shown";
}

TEST_F(TextCommands, GenerateDrawsSeveralSamples) {
  const std::string one = generate({"--prompt", "a b\n", "--tokens", "40"}).out;
  const std::string three = generate({"--prompt", "a b\n", "--tokens", "40", "--samples", "3"}).out;
  EXPECT_TRUE(three.starts_with(one + "---\na b\n")) << three;
  EXPECT_EQ(three.size(), 3 * one.size() + 2 * 4);
  EXPECT_NE(three.substr(one.size() + 4, one.size()), one);
}

TEST_F(TextCommands, GreedyNeedsNoSeed) {
  const Outcome greedy = generate({"--temperature", "0", "--seed", "3"});
  EXPECT_EQ(greedy.code, 0) << greedy.err;
  EXPECT_EQ(greedy.out.size(), 257U);
  EXPECT_EQ(generate({"--temperature", "0", "--seed", "4"}).out, greedy.out);
  EXPECT_EQ(generate({"--top-k", "1"}).out, greedy.out);
  EXPECT_EQ(generate({"--top-p", "1e-9"}).out, greedy.out);
}

TEST_F(TextCommands, GenerateRefusesInWords) {
  expect_generate_refused({"--temperature", "-1"},
                          "[heed] --temperature is -1, from 0 to 100 is expected\n");
  expect_generate_refused({"--temperature", "nan"},
                          "[heed] --temperature is nan, from 0 to 100 is expected\n");
  expect_generate_refused({"--top-p", "0"},
                          "[heed] --top-p is 0, above 0 and at most 1 is expected\n");
  expect_generate_refused({"--top-p", "1.5"},
                          "[heed] --top-p is 1.5, above 0 and at most 1 is expected\n");
  expect_generate_refused({"--top-k", "-3"}, "[heed] --top-k is -3, at least 0 is expected\n");
  expect_generate_refused({"--tokens", "0"}, "[heed] --tokens is 0, at least 1 is expected\n");
  expect_generate_refused({"--seed", "-1"}, "[heed] --seed is -1, at least 0 is expected\n");
  expect_generate_refused({"--on-overflow", "x"},
                          "[heed] --on-overflow is x, \"slide\" or \"refuse\" is expected\n");
  const Outcome folder =
      Program(*folder_, {"generate", "runs/letters", "--prompt", "-"}, "", {}, ".").wait();
  EXPECT_EQ(folder.code, 2);
  EXPECT_EQ(folder.out, "");
  EXPECT_EQ(folder.err, "[generate] standard input cannot be read: Is a directory\n");
  expect_generate_refused(
      {"--prompt", "xyz"},
      "[generate] the prompt holds 'x', which is not in the model's vocabulary; it "
      "knows 6 characters: \\n abce\n");
  expect_generate_refused({"--prompt", "-"}, "[generate] byte 2 of the prompt, 0xFF, is no UTF-8\n",
                          "a\xFF");
  expect_generate_refused(
      {"--prompt", "a b\na b\na b\na b\na", "--on-overflow", "refuse"},
      "[generate] the prompt has 17 tokens, the model sees 16 (model.context); shorten it, or let "
      "the text slide (--on-overflow slide)\n");
  expect_generate_refused(
      {"--prompt", "a b", "--tokens", "20", "--on-overflow", "refuse"},
      "[generate] 20 tokens after a prompt of 3 outgrow model.context = 16; ask for at most 14, or "
      "let the text slide (--on-overflow slide)\n");
}

TEST_F(TextCommands, EachKindOfModelNamesItsCommand) {
  expect_refused({"translate", "runs/letters"},
                 "[run] runs/letters/checkpoints/best.safetensors holds a language model "
                 "(causal_lm), which translates nothing; `heed generate` writes with it\n");
  expect_refused({"generate", "runs/pairs"},
                 "[run] runs/pairs/checkpoints/best.safetensors holds a translator (transformer), "
                 "which does not go on writing; `heed translate` translates with it\n");
  expect_refused({"evaluate", "runs/letters", "--beam", "3"},
                 "[evaluate] --beam is for translators, runs/letters holds a language model\n");
  expect_refused({"evaluate", "runs/letters", "--corpus", "grammar:20"},
                 "[data] grammar:20 makes pairs of sentences, a language model reads one text\n");
  expect_refused({"evaluate", "runs/pairs", "--corpus", "sources"},
                 "[data] sources is a running text, pairs of sentences are expected\n");
}

TEST_F(TextCommands, EvaluatePrintsOneObject) {
  const Outcome outcome = run({"evaluate", "runs/letters", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json values = json::parse(outcome.out);
  EXPECT_EQ(values["corpus"], "the tail of letters.txt");
  EXPECT_EQ(values["tokens"], 39);
  EXPECT_EQ(values["characters"], 39);
  const double nll = values["nll"].get<double>();
  EXPECT_EQ(values["loss"], values["nll"]);
  EXPECT_NEAR(values["perplexity"].get<double>(), std::exp(nll), 1e-9);
  EXPECT_NEAR(values["bits_per_character"].get<double>(), nll / std::numbers::ln2, 1e-9);
  EXPECT_EQ(values["checkpoint"], "runs/letters/checkpoints/best.safetensors");
  EXPECT_EQ(values["step"], 4);
  EXPECT_EQ(values.size(), 9U);
  write_file("test", *folder_ / "other.txt", "a b\nb b\n");
  const Outcome other = run({"evaluate", "runs/letters", "--corpus", "other.txt"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(other.out.find("runs/letters/checkpoints/best.safetensors: causal_lm at step 4\n"
                           "other.txt: 7 tokens, 7 characters\n"),
            0U)
      << other.out;
}

TEST_F(TextCommands, InspectAndPlotKnowLanguageModels) {
  const Outcome text = run({"inspect", "runs/letters"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out.find("causal_lm at step 4 (finished), text vocabulary 10\n"), 0U) << text.out;
  EXPECT_NE(text.out.find("\nstep  epoch     nll  perplexity  bits a character\n"),
            std::string::npos)
      << text.out;
  const size_t config = text.out.find("\nconfig, ");
  ASSERT_NE(config, std::string::npos) << text.out;
  EXPECT_EQ(text.out.substr(config), R"(
config, where it differs from the defaults (config.toml in the run folder has all)
  run.name = "letters"
  data.train = "letters.txt"
  model.width = 8
  model.layers = 1
  model.heads = 2
  model.context = 16
  train.steps = 4
  train.validate_every = 2
)");
  const json values = json::parse(run({"inspect", "runs/letters", "--json"}).out);
  EXPECT_EQ(values["kind"], "causal_lm");
  EXPECT_EQ(values["text_vocabulary"], 10);
  const std::string page = read_file("test", *folder_ / "runs/letters/report/index.html");
  EXPECT_NE(page.find(">Bits a character<"), std::string::npos);
  const Outcome plot =
      run({"plot", "runs/letters", "--value", "bits_per_character", "--output", "bits.svg"});
  EXPECT_EQ(plot.code, 0) << plot.err;
  EXPECT_EQ(read_file("test", *folder_ / "bits.svg").find("<svg"), 0U);
}

TEST_F(TextCommands, ATransformersReportShowsEveryHead) {
  const std::string page = read_file("test", *folder_ / "runs/pairs/report/index.html");
  for (const char* label : {"layer 1, head 1", "layer 1, head 2", "layer 2, head 2"}) {
    size_t count = 0;
    const std::string text = fmt::format(">{}</text>", label);
    for (size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) {
      ++count;
    }
    EXPECT_EQ(count, 3U) << label << ": three sentences";
  }
}

TEST_F(TextCommands, PagesOfATransformerSayWhatTheWeightsAre) {
  const std::string note = "The weights are the mean over all layers and heads.";
  const Outcome outcome = run({"evaluate", "runs/pairs", "--alignments", "pairs.html"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(read_file("test", *folder_ / "pairs.html").find(note), std::string::npos);
  EXPECT_NE(read_file("test", *folder_ / "runs/pairs/report/index.html").find(note),
            std::string::npos);
}

TEST_F(TextCommands, AShortTextIsWarnedOf) {
  const Outcome outcome = run({"train", "letters.toml", "--run", "short", "--set",
                               "model.context=50", "--set", "train.steps=1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(
                "\n[data] warning: the tail of letters.txt has 40 tokens, one window of "
                "model.context = 50 needs 51 (the last is only predicted): longer contexts are "
                "never measured\n"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.find("never learned"), std::string::npos) << outcome.err;
  const Outcome shorter = run({"train", "letters.toml", "--run", "shorter", "--set",
                               "model.context=360", "--set", "train.steps=1"});
  EXPECT_NE(shorter.err.find(
                "\n[data] warning: letters.txt without its tail has 360 tokens, one window of "
                "model.context = 360 needs 361 (the last is only predicted): longer "
                "contexts are never learned\n"),
            std::string::npos)
      << shorter.err;
  EXPECT_EQ(letters_.err.find("[data] warning"), std::string::npos) << letters_.err;
}

// Without a validation corpus the samples are what was trained on, not what was left out.
TEST_F(TextCommands, AReportShowsNoPairThatWasTooLong) {
  std::string pairs = "the cat sleeps when the dog sleeps and the bird sings .\tle chat dort .\n";
  for (int i = 0; i < 10; ++i) {
    pairs += "the cat sleeps .\tle chat dort .\n";
  }
  write_file("test", *folder_ / "long.tsv", pairs);
  const Outcome trained =
      run({"train", "pairs.toml", "--run", "long", "--set", "data.train=long.tsv", "--set",
           "data.validation=none", "--set", "data.max_length=8", "--set", "model.context=10"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  const std::string page = read_file("test", *folder_ / "long/report/index.html");
  EXPECT_NE(page.find("the cat sleeps ."), std::string::npos);
  EXPECT_EQ(page.find("the dog sleeps"), std::string::npos);
}

// A line that cannot be translated ends the work; what comes before it is written.
TEST_F(TextCommands, SentencesPastTheContextAreNamed) {
  std::string sentence;
  for (int i = 0; i < 70; ++i) {
    sentence += "the ";
  }
  const std::string input = "the cat .\n\n" + sentence + "\nthe cat .\n";
  const auto refused = [](const std::string& name) {
    return "[translate] warning: 1 of 3 source tokens are not in the vocabulary; the first is "
           "'cat' in line 1 of " +
           name + "\n[translate] line 3 of " + name +
           " has 71 tokens, the model's positions end at 60 (model.context); cut it into shorter "
           "sentences\n";
  };
  const Outcome standard = run({"translate", "runs/pairs"}, input);
  EXPECT_EQ(standard.code, 2);
  EXPECT_EQ(standard.err, refused("standard input"));
  EXPECT_EQ(standard.out, run({"translate", "runs/pairs"}, "the cat .\n\n").out);
  write_file("test", *folder_ / "long.en", input);
  const Outcome file = run({"translate", "runs/pairs", "--input", "long.en"});
  EXPECT_EQ(file.code, 2);
  EXPECT_EQ(file.err, refused("long.en"));
  EXPECT_EQ(file.out, standard.out);
  write_file("test", *folder_ / "long.tsv", "the cat .\tle chat .\n" + sentence + "\tle .\n");
  const Outcome evaluated = run({"evaluate", "runs/pairs", "--corpus", "long.tsv"});
  EXPECT_EQ(evaluated.code, 2);
  EXPECT_TRUE(evaluated.err.ends_with(
      "\n[data] long.tsv: '" + sentence.substr(0, sentence.size()) +
      "' or its translation has 71 tokens, the model's positions end at 60; raise model.context, "
      "or leave the pair out\n"))
      << evaluated.err;
}

TEST_F(TextCommands, TheTailOfAChangedTextIsWarnedOf) {
  const Outcome same = run({"evaluate", "runs/letters"});
  EXPECT_EQ(same.err.find("has changed"), std::string::npos) << same.err;
  const std::string text = read_file("test", *folder_ / "letters.txt");
  write_file("test", *folder_ / "letters.txt", "e b\n" + text);
  const Outcome changed = run({"evaluate", "runs/letters"});
  EXPECT_EQ(changed.code, 0) << changed.err;
  EXPECT_NE(changed.err.find(
                "letters.txt without its tail has changed since the training: it was 360 tokens, "),
            std::string::npos)
      << changed.err;
  write_file("test", *folder_ / "letters.txt", text);
}

TEST_F(TextCommands, WordsHaveNoBitsACharacter) {
  const Outcome trained =
      run({"train", "letters.toml", "--run", "words", "--set", "data.tokenizer=word"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.err.find("bits a character"), std::string::npos) << trained.err;
  const Outcome outcome = run({"evaluate", "words"});
  EXPECT_NE(outcome.out.find("\nthe tail of letters.txt: 29 tokens\n"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("bits"), std::string::npos) << outcome.out;
  expect_refused({"generate", "words", "--prompt", " "},
                 "[generate] the prompt ' ' holds no token of a word tokenizer; give it text, or "
                 "leave it out\n");
}

}  // namespace
}  // namespace heed::test
