#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/file.h"
#include "tests/train/run_program.h"
#include "tests/train/tiny_run.h"

namespace heed::test {
namespace {

using nlohmann::json;

class EvaluateCommand : public TinyRun {};

TEST_F(EvaluateCommand, PrintsOneObject) {
  const Outcome outcome = run({"evaluate", "runs/tiny", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err,
            "[data] grammar:20:3-6: 20 pairs (0 empty, 0 too long (> 50 tokens), 0 over ratio), "
            "0.00% unknown\n");
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
  const json values = json::parse(outcome.out);
  std::set<std::string> keys;
  for (const auto& [key, value] : values.items()) {
    keys.insert(key);
  }
  EXPECT_EQ(keys,
            (std::set<std::string>{"checkpoint", "step", "corpus", "loss", "nll", "perplexity",
                                   "bleu", "bleu_signature", "chrf", "chrf_signature", "exact",
                                   "tokens", "sentences", "alignment_accuracy"}));
  EXPECT_EQ(values["sentences"], 20);
  EXPECT_NEAR(values["perplexity"].get<double>(), std::exp(values["nll"].get<double>()), 1e-6);
  EXPECT_EQ(run({"evaluate", "runs/tiny", "--json"}).out, outcome.out) << "it is deterministic";
}

// Of a run the best one, unless there was no validation to tell.
TEST_F(EvaluateCommand, NamesTheCheckpoint) {
  const auto first_line = [](const std::string& run_or_file) {
    const std::string out = run({"evaluate", run_or_file}).out;
    return out.substr(0, out.find('\n'));
  };
  const std::string best = "runs/tiny/checkpoints/best.safetensors";
  EXPECT_EQ(first_line("runs/tiny"), best + ": rnnsearch at step 3");
  const json values = json::parse(run({"evaluate", "runs/tiny", "--json"}).out);
  EXPECT_EQ(values["checkpoint"], best);
  EXPECT_EQ(values["step"], 3);
  const Outcome trained = run({"train", "tiny.toml", "--run", "unvalidated", "--set",
                               "data.validation=none", "--set", "train.steps=2"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string latest = "unvalidated/checkpoints/step-00000002.safetensors";
  EXPECT_EQ(first_line("unvalidated"), latest + ": rnnsearch at step 2");
  EXPECT_EQ(first_line(latest), latest + ": rnnsearch at step 2");
}

TEST_F(EvaluateCommand, Draws) {
  const Outcome outcome = run({"evaluate", "runs/tiny", "--by-length", "lengths.svg",
                               "--alignments", "new/pairs.html", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(json::accept(outcome.out)) << outcome.out;
  EXPECT_NE(outcome.err.find("[evaluate] BLEU by length: lengths.svg\n"), std::string::npos);
  EXPECT_NE(outcome.err.find("[evaluate] 20 alignments: new/pairs.html\n"), std::string::npos);
  const std::string svg = read_file("test", *folder_ / "lengths.svg");
  EXPECT_EQ(svg.find("<svg"), 0u) << svg.substr(0, 80);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  const std::string page = read_file("test", *folder_ / "new/pairs.html");
  EXPECT_EQ(page.find("<!DOCTYPE html>"), 0u) << page.substr(0, 80);
  EXPECT_NE(page.find("<svg"), std::string::npos);
}

// The corpus is made and its words are counted by the first run; each curve is called what its run
// was called.
TEST_F(EvaluateCommand, ComparesRunsOnTheSameSentences) {
  const Outcome trained = run({"train", "tiny.toml", "--run", "other", "--set", "run.seed=2",
                               "--set", "data.tokenizer=character"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Arguments compare = {"evaluate", "runs/tiny", "--compare", "other",      "--length-step",
                             "2",        "--json",    "--corpus",  "grammar:40", "--by-length"};
  const Outcome outcome = run(compare);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  using Range = std::tuple<int64_t, int64_t, int64_t>;
  std::map<std::string, std::vector<Range>> ranges;
  int64_t sentences = 0;
  const json values = json::parse(outcome.out);
  for (const json& row : values["by_length"]) {
    ranges[row["run"]].emplace_back(row["min_length"], row["max_length"], row["sentences"]);
    sentences += row["sentences"].get<int64_t>();
    EXPECT_GE(row["bleu"].get<double>(), 0);
    EXPECT_EQ(row["step"], 3);
    EXPECT_EQ(row.size(), 6U);
  }
  EXPECT_EQ(sentences, 80);
  EXPECT_GT(ranges["runs/tiny"].size(), 5U);
  EXPECT_EQ(ranges["other"], ranges["runs/tiny"]);
  EXPECT_EQ(ranges.size(), 2U);
  Arguments drawn = compare;
  drawn.emplace_back("by.svg");
  ASSERT_EQ(run(drawn).code, 0);
  const std::string svg = read_file("test", *folder_ / "by.svg");
  EXPECT_NE(svg.find(">runs/tiny<"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">other<"), std::string::npos) << svg;
}

TEST_F(EvaluateCommand, ComparedRunsAreScoredAlike) {
  const Outcome trained = run({"train", "tiny.toml", "--run", "small letters", "--set",
                               "data.lowercase=true", "--set", "train.steps=1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  Arguments compare = {"evaluate", "runs/tiny", "--by-length", "--compare", "small letters"};
  const Outcome outcome = run(compare);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(
      outcome.err.find("[evaluate] all runs are scored in lower case, which is all that small "
                       "letters writes\n"),
      0U)
      << outcome.err;
  const std::string signature = "BLEU nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:";
  EXPECT_NE(outcome.out.find("\nruns/tiny at step 3, " + signature), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\nsmall letters at step 1, " + signature), std::string::npos)
      << outcome.out;
  compare.insert(compare.end(), {"--bleu-tokenize", "none"});
  expect_refused(
      compare,
      "[evaluate] --bleu-tokenize none scores the tokens of a run, and small letters has "
      "others than runs/tiny; leave it out\n");
  compare[4] = "runs/tiny";
  EXPECT_EQ(run(compare).code, 0) << "the same tokens";
}

TEST_F(EvaluateCommand, OptionsOfWhatIsNotAskedForAreRefused) {
  expect_refused({"evaluate", "runs/tiny", "--length-step", "3"},
                 "[heed] --length-step requires --by-length; see `heed evaluate --help`\n");
  expect_refused({"evaluate", "runs/tiny", "--compare", "runs/tiny"},
                 "[heed] --compare requires --by-length; see `heed evaluate --help`\n");
  expect_refused({"evaluate", "runs/tiny", "--alignments-shown", "3"},
                 "[heed] --alignments-shown requires --alignments; see `heed evaluate --help`\n");
}

// By length as over all: a model that writes lower case is not blamed for it.
TEST_F(EvaluateCommand, BleuByLengthForgivesCaseAsBleuDoes) {
  std::string pairs;
  for (int i = 0; i < 64; ++i) {
    pairs += "A B C D\tE F G H\n";
  }
  write_file("test", *folder_ / "upper.tsv", pairs);
  const Outcome trained =
      run({"train", "tiny.toml", "--run", "lower", "--set", "data.lowercase=true", "--set",
           "data.train=upper.tsv", "--set", "data.validation=none", "--set", "data.test=upper.tsv",
           "--set", "train.steps=60", "--set", "train.learning_rate=0.03"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const json values = json::parse(run({"evaluate", "lower", "--json", "--by-length"}).out);
  EXPECT_NEAR(values["bleu"].get<double>(), 100, 1e-9);
  ASSERT_EQ(values["by_length"].size(), 1U);
  EXPECT_EQ(values["by_length"][0]["bleu"], values["bleu"]);
}

TEST_F(EvaluateCommand, WhatCannotBeDrawnIsRefusedBeforeTheWork) {
  expect_refused({"evaluate", "runs/tiny", "--by-length", "a.html"},
                 "[heed] --by-length is a.html: a name ending in .svg (a picture) is expected\n");
  expect_refused({"evaluate", "runs/tiny", "--alignments", "a.svg"},
                 "[heed] --alignments is a.svg: a name ending in .html (a page) is expected\n");
  expect_refused({"evaluate", "runs/tiny", "--by-length", "--compare", "nosuch"},
                 "[run] nosuch: no such run folder or checkpoint\n");
  const Outcome trained =
      run({"train", "tiny.toml", "--run", "fixed", "--set", "model.kind=rnnencdec"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  expect_refused({"evaluate", "fixed", "--alignments", "a.html"},
                 "[evaluate] rnnencdec does not attend: it has no alignments\n");
}

}  // namespace
}  // namespace heed::test
