#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/file.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/run_program.h"

namespace heed::test {
namespace {

using nlohmann::json;

constexpr const char* tiny_config = R"([run]
name = "tiny"
log_every = 1
[data]
train = "grammar:200:3-6"
validation = "grammar:20:3-6"
test = "grammar:20:3-6"
[model]
width = 8
[train]
steps = 3
)";

class Commands : public testing::Test {
 protected:
  // One training serves all tests: runs/tiny.
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_file("test", *folder_ / "tiny.toml", tiny_config);
    training_ = run({"train", "tiny.toml"});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override { ASSERT_EQ(training_.code, 0) << training_.err; }

  static Outcome run(const Arguments& arguments, const std::string& input = "") {
    return Program(*folder_, arguments, input).wait();
  }
  // The command is refused as the user's mistake: exit code 2, nothing on stdout, this on stderr.
  static void expect_refused(const Arguments& arguments, const std::string& text,
                             const std::string& input = "") {
    const Outcome outcome = run(arguments, input);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(without_machine(outcome.err), text);
  }
  static void expect_corpus_refused(const std::string& bytes, const std::string& text) {
    write_file("test", *folder_ / "bad.tsv", bytes);
    expect_refused({"train", "tiny.toml", "--run", "refused", "--set", "data.train=bad.tsv"}, text);
  }

  static TemporaryFolder* folder_;
  static Outcome training_;
};
TemporaryFolder* Commands::folder_ = nullptr;
Outcome Commands::training_;

TEST_F(Commands, ConfigMistakesAreReportedTogether) {
  write_file("test", *folder_ / "bad.toml", R"([model]
width = "wide"
layrs = 3
kind = "rnnsearch"
heads = 4
[train]
optimizer = "adma"
min_learning_rate = 1e-4
[decode]
n_best = 5
[dat]
train = "a"
)");
  expect_refused({"train", "bad.toml", "--set", "train.epoch=3", "--set", "model.dropout=1.5"},
                 R"([config] model.width is a string, an integer is expected: bad.toml:2
[config] unknown key 'layrs' in [model], bad.toml:3; did you mean 'layers'?
[config] train.optimizer is "adma", one of "sgd", "adam", "adamw", "adadelta" is expected: bad.toml:7; did you mean "adam"?
[config] unknown section 'dat', bad.toml:11; did you mean [data]?
[config] unknown key 'epoch' in [train], --set train.epoch=3; did you mean 'epochs'?
[config] model.dropout is 1.5, at least 0 and below 1 is expected: --set model.dropout=1.5
[config] model.heads has no effect with model.kind = "rnnsearch": bad.toml:5
[config] train.min_learning_rate has no effect with train.schedule = "constant": bad.toml:8
[config] decode.n_best = 5 is above decode.beam_size = 1: bad.toml:10
)");
}

TEST_F(Commands, UnreadableCorpora) {
  expect_refused({"train", "tiny.toml", "--run", "refused", "--set", "data.train=nosuch.tsv"},
                 "[data] nosuch.tsv: no such file\n");
  expect_corpus_refused("", "[data] bad.tsv is empty\n");
  expect_corpus_refused("\xEF\xBB\xBF", "[data] bad.tsv is empty but for a byte order mark\n");
  expect_corpus_refused(std::string("a\0b\0\0\0c\0\0\x01", 10),
                        "[data] bad.tsv is a binary file, UTF-8 text is expected; give a text "
                        "file\n");
  const std::string utf16 =
      "[data] bad.tsv is UTF-16 text, UTF-8 text is expected; convert it: iconv -f UTF-16 -t "
      "UTF-8\n";
  expect_corpus_refused(std::string("\xFF\xFE\x61\0\x09\0\x62\0\x0A\0", 10), utf16);
  expect_corpus_refused(std::string("a\0\t\0b\0\n\0", 8), utf16);
  expect_corpus_refused("\x1F\x8B\x08",
                        "[data] bad.tsv is a gzip archive, UTF-8 text is expected; unpack it "
                        "first: gunzip\n");
  expect_corpus_refused("\n <!DOCTYPE html><html>",
                        "[data] bad.tsv is an HTML page, UTF-8 text is expected; download the file "
                        "itself, not the page that shows it\n");
  expect_corpus_refused("a\tb\nc\td\xE9!\n",
                        "[data] bad.tsv:2: byte 4 of the line, 0xE9, is no UTF-8; convert the file "
                        "(iconv -f LATIN1 -t UTF-8), or set data.invalid_utf8 = \"replace\"\n");
  expect_corpus_refused("a\tb\rc\td\r",
                        "[data] bad.tsv is text whose lines end with CR alone, UTF-8 text is "
                        "expected; convert it: tr '\\r' '\\n'\n");
  expect_corpus_refused("a\tb\nc d\n",
                        "[data] bad.tsv:2: there is no TAB; a line is source TAB target\n");
  expect_corpus_refused("a\t\n\tb\n", "[data] bad.tsv holds no pair with text on both sides\n");
}

TEST_F(Commands, UnequalFiles) {
  write_file("test", *folder_ / "a.en", "a long sentence here\nx\nanother long line\n");
  write_file("test", *folder_ / "a.fr", "une longue phrase ici\nune autre longue ligne\n");
  expect_refused(
      {"train", "tiny.toml", "--run", "refused", "--set", "data.train=[\"a.en\", \"a.fr\"]"},
      "[data] a.en has 3 lines, a.fr has 2; by their lengths they seem to drift apart "
      "at line 2\n");
}

TEST_F(Commands, NoRunFolder) {
  expect_refused({"translate", "nosuch"}, "[run] nosuch: no such run folder or checkpoint\n");
  std::filesystem::create_directory(*folder_ / "empty");
  const std::string empty =
      "[run] empty is no run folder: there is no checkpoint in it; `heed train CONFIG --run empty` "
      "makes one\n";
  expect_refused({"translate", "empty"}, empty);
  expect_refused({"evaluate", "empty"}, empty);
  expect_refused({"inspect", "empty"}, empty);
  expect_refused({"plot", "empty"},
                 "[plot] empty is no run folder: there is no metrics.jsonl in it\n");
  expect_refused({"inspect", "tiny.toml"},
                 "[checkpoint] tiny.toml is no checkpoint of heed, or is damaged\n");
}

TEST_F(Commands, DamagedCheckpoint) {
  std::string bytes = read_file("test", *folder_ / "runs/tiny/checkpoints/best.safetensors");
  bytes[bytes.size() / 2] ^= 1;
  write_file("test", *folder_ / "damaged.safetensors", bytes);
  expect_refused({"translate", "damaged.safetensors"},
                 "[checkpoint] damaged.safetensors is damaged: its content does not match its "
                 "checksum\n");
}

TEST_F(Commands, UnknownWords) {
  expect_refused({"trian"}, "[heed] unknown command 'trian'; did you mean 'train'?\n");
  expect_refused({"translate", "runs/tiny", "--bem", "3"},
                 "[heed] unknown option '--bem' of `heed translate`; did you mean '--beam'?\n");
  expect_refused({"translate", "runs/tiny", "--beam", "x"},
                 "[heed] --beam = x: a number is expected; see `heed translate --help`\n");
  expect_refused({"evaluate", "runs/tiny", "--corpus", "none"},
                 "[evaluate] --corpus is none: there is nothing to score; name a corpus\n");
  expect_refused({"translate"}, "[heed] RUN is required; see `heed translate --help`\n");
  expect_refused({"gradcheck", "softmax", "gru_cel"},
                 "[gradcheck] there is no op called 'gru_cel'; did you mean 'gru_cell'?\n");
  expect_refused({"gradcheck", "attention"},
                 "[gradcheck] there is no op called 'attention'; did you mean "
                 "'additive_attention' or 'scaled_dot_product_attention'?\n");
  expect_refused(
      {"gradcheck", "soft"},
      "[gradcheck] there is no op called 'soft'; did you mean 'log_softmax' or 'softmax'?\n");
  expect_refused({"gradcheck", "zzzzzz"},
                 "[gradcheck] there is no op called 'zzzzzz'; `heed gradcheck` without a name "
                 "checks and lists all\n");
}

TEST_F(Commands, DecodingOptionsOutOfRange) {
  const auto refused = [](const Arguments& flags, const std::string& text) {
    Arguments arguments = {"translate", "runs/tiny"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    expect_refused(arguments, "[heed] " + text + "\n", "the cat sleeps .\n");
  };
  refused({"--beam", "0"}, "--beam is 0, from 1 to 1000 is expected");
  refused({"--n-best", "0"}, "--n-best is 0, from 1 to 1000 is expected");
  refused({"--n-best", "5", "--beam", "2"},
          "--n-best 5 is above --beam 2: a beam holds no more translations than that");
  refused({"--max-length", "-1"}, "--max-length is -1, from 0 to 1000000 is expected");
  refused({"--length-penalty", "nan"}, "--length-penalty is nan, from 0 to 10 is expected");
  refused({"--max-length", "3", "--min-length", "4"},
          "the least length, 4, is above the greatest, 3: see --min-length and --max-length");
}

TEST_F(Commands, TheBeamFollowsWhatWasAskedFor) {
  const std::string line = "the cat sleeps .\n";
  EXPECT_EQ(run({"translate", "runs/tiny", "--n-best", "3"}, line).code, 0);
  // A run that was made for three translations decodes greedily when told to.
  const Outcome trained = run({"train", "tiny.toml", "--run", "three", "--set", "decode.n_best=3",
                               "--set", "decode.beam_size=3"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Outcome greedy = run({"translate", "three", "--beam", "1"}, line);
  EXPECT_EQ(greedy.code, 0) << greedy.err;
  EXPECT_EQ(std::count(greedy.out.begin(), greedy.out.end(), '\n'), 1);
}

TEST_F(Commands, TranslateKeepsLines) {
  const std::string sentence = "the small cat sleeps .";
  const Outcome alone = run({"translate", "runs/tiny"}, sentence + "\n");
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(alone.err, "");
  ASSERT_GT(alone.out.size(), 1u);
  // A mark at the start, CRLF, an empty line, a line separator within a line, a line that only
  // looks like a page, no last newline.
  const std::string input = "\xEF\xBB\xBF" + sentence + "\r\n\n" + sentence + "\n" +
                            "the cat\xE2\x80\xA8sleeps .\n<html> the cat\n" + sentence;
  const Outcome standard = run({"translate", "runs/tiny"}, input);
  EXPECT_EQ(standard.code, 0) << standard.err;
  EXPECT_EQ(std::count(standard.out.begin(), standard.out.end(), '\n'), 6);
  EXPECT_EQ(standard.out.find(alone.out + "\n" + alone.out), 0u) << standard.out;
  EXPECT_TRUE(standard.out.ends_with("\n" + alone.out));
  write_file("test", *folder_ / "lines.txt", input);
  const Outcome file =
      run({"translate", "runs/tiny", "--input", "lines.txt", "--output", "lines.out"});
  EXPECT_EQ(file.code, 0) << file.err;
  EXPECT_EQ(file.out, "");
  EXPECT_EQ(read_file("test", *folder_ / "lines.out"), standard.out);
}

TEST_F(Commands, TranslateMayWriteOverItsInput) {
  const std::string input = "the small cat sleeps .\n\nthe cat .\n";
  write_file("test", *folder_ / "both.txt", input);
  ASSERT_EQ(run({"translate", "runs/tiny", "--input", "both.txt", "--output", "both.txt"}).err, "");
  EXPECT_EQ(read_file("test", *folder_ / "both.txt"), run({"translate", "runs/tiny"}, input).out);
  expect_refused({"translate", "runs/tiny", "--input", "nosuch", "--output", "both.txt"},
                 "[data] nosuch: no such file\n");
  EXPECT_GT(read_file("test", *folder_ / "both.txt").size(), 2U) << "it stays";
}

TEST_F(Commands, TranslateSaysWhatTrainingNeverSaw) {
  std::string input = "the cat sleeps .\n\nthe zyx sleeps .\nxyz";
  const auto warned = [&](const std::string& unknown) {
    return "[translate] warning: " + unknown +
           " source tokens are not in the vocabulary; the first is 'zyx' in line 3 of standard "
           "input\n";
  };
  EXPECT_EQ(run({"translate", "runs/tiny"}, input).err, warned("2 of 9"));
  input += "\n";
  for (int i = 0; i < 51; ++i) {
    input += "the ";
  }
  EXPECT_EQ(run({"translate", "runs/tiny"}, input).err,
            warned("2 of 60") +
                "[translate] warning: 1 sentences are longer than any in training (data.max_length "
                "= 50); the first is line 5 of standard input\n");
}

TEST_F(Commands, TranslateGivesNLinesForEach) {
  EXPECT_EQ(run({"translate", "runs/tiny"}, "\xEF\xBB\xBF").code, 0) << "a mark and no line";
  const Outcome best =
      run({"translate", "runs/tiny", "--n-best", "3"}, "the cat sleeps .\n\nthe dog .\n");
  ASSERT_EQ(best.code, 0) << best.err;
  EXPECT_EQ(std::count(best.out.begin(), best.out.end(), '\n'), 9);
  EXPECT_NE(best.out.find("\n\n\n\n"), std::string::npos) << "three empty lines for an empty one";
}

TEST_F(Commands, TranslateNamesTheLineOfStandardInput) {
  const std::string advice =
      "is no UTF-8; convert the file (iconv -f LATIN1 -t UTF-8), or set data.invalid_utf8 = "
      "\"replace\"\n";
  expect_refused({"translate", "runs/tiny"},
                 "[data] standard input:1: byte 2 of the line, 0xE9, " + advice, "a\xE9\nb\n");
  const Outcome outcome = run({"translate", "runs/tiny"}, "a\nb\n\xFF\n");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "[data] standard input:3: byte 1 of the line, 0xFF, " + advice);
  EXPECT_EQ(outcome.out, run({"translate", "runs/tiny"}, "a\nb\n").out) << "the lines before";
}

TEST_F(Commands, EvaluatePrintsOneObject) {
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
  EXPECT_EQ(keys, (std::set<std::string>{"corpus", "loss", "nll", "perplexity", "bleu",
                                         "bleu_signature", "chrf", "chrf_signature", "exact",
                                         "tokens", "sentences", "alignment_accuracy"}));
  EXPECT_EQ(values["sentences"], 20);
  EXPECT_NEAR(values["perplexity"].get<double>(), std::exp(values["nll"].get<double>()), 1e-6);
  EXPECT_EQ(run({"evaluate", "runs/tiny", "--json"}).out, outcome.out) << "it is deterministic";
}

TEST_F(Commands, EvaluateDraws) {
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

TEST_F(Commands, PlotWritesPagesAndPicturesAlone) {
  expect_refused({"plot", "runs/tiny", "--output", "curves.png"},
                 "[plot] --output is curves.png: a name ending in .html (a page of one run) or "
                 ".svg (a picture of one value) is expected\n");
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "curves.png"));
  expect_refused({"plot", "runs/tiny", "runs/tiny", "--output", "curves.html"},
                 "[plot] --output is curves.html: a page shows one run, 2 are compared in an .svg "
                 "picture\n");
  expect_refused({"plot", "runs/tiny", "--value", "bleu", "--output", "curves.html"},
                 "[plot] --value is bleu, but --output is curves.html: a page shows every value; a "
                 "picture (.svg) shows one\n");
  const Outcome page = run({"plot", "runs/tiny", "--output", "curves.html"});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_EQ(read_file("test", *folder_ / "curves.html").find("<!DOCTYPE html>"), 0U);
}

TEST_F(Commands, InspectShowsWhatTheConfigChose) {
  const Outcome outcome = run({"inspect", "runs/tiny"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const size_t config = outcome.out.find("\nconfig, ");
  ASSERT_NE(config, std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.substr(config), R"(
config, where it differs from the defaults (config.toml in the run folder has all)
  run.name = "tiny"
  run.log_every = 1
  data.train = "grammar:200:3-6"
  data.validation = "grammar:20:3-6"
  data.test = "grammar:20:3-6"
  model.width = 8
  model.embedding_width = 8
  model.attention_width = 8
  train.steps = 3
  train.epochs = 0
  train.learning_rate = 0.001
  train.epsilon = 1e-08
)");
}

TEST_F(Commands, InspectPrintsOneObject) {
  const Outcome outcome = run({"inspect", "runs/tiny", "--json"});
  ASSERT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  const json values = json::parse(outcome.out);
  EXPECT_EQ(values["kind"], "rnnsearch");
  EXPECT_EQ(values["step"], 3);
  EXPECT_EQ(values["finished"], true);
  int64_t count = 0;
  for (const json& parameter : values["parameters"]) {
    int64_t size = 1;
    for (const int64_t extent : parameter["shape"]) {
      size *= extent;
    }
    count += size;
  }
  EXPECT_EQ(values["parameter_count"], count);
  ASSERT_EQ(values["history"].size(), 4u);  // three log lines, one validation
  EXPECT_EQ(values["history"][3]["event"], "validation");
}

TEST_F(Commands, GradcheckPrintsOneObject) {
  const Outcome outcome = run({"gradcheck", "softmax", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json values = json::parse(outcome.out);
  EXPECT_EQ(values["failed"], 0);
  EXPECT_GT(values["cases"].get<int>(), 1);
  EXPECT_EQ(values["results"].size(), values["cases"].get<size_t>());
  for (const json& result : values["results"]) {
    EXPECT_EQ(result["op"], "softmax");
    EXPECT_EQ(result["passed"], true);
  }
}

TEST_F(Commands, ASignalSavesAndTheSameCommandGoesOn) {
  const Arguments training = {"train", "tiny.toml",          "--run", "stopped",
                              "--set", "train.steps=100000", "--set", "data.validation=none"};
  const Program program(*folder_, training, "");
  // It handles signals from before its first step on.
  const std::string metrics = *folder_ / "stopped/metrics.jsonl";
  for (int i = 0; i < 2000; ++i) {
    std::error_code ignored;
    if (std::filesystem::exists(metrics) && std::filesystem::file_size(metrics, ignored) > 0) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(kill(program.id(), SIGTERM), 0);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.code, 128 + SIGTERM);
  const json at = json::parse(run({"inspect", "stopped", "--json"}).out);
  const auto step = at["step"].get<int64_t>();
  EXPECT_GE(step, 1);
  EXPECT_EQ(at["finished"], false);
  EXPECT_TRUE(stopped.err.ends_with(
      fmt::format("\n[run] stopped at step {}; the same command goes on from here\n", step)))
      << stopped.err;
  // Fewer steps will do: the run counts as finished with those it has.
  const Outcome again = run({"train", "stopped", "--set", fmt::format("train.steps={}", step + 2)});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find(fmt::format("\n[run] stopped goes on from step {}\n", step)),
            std::string::npos)
      << again.err;
  EXPECT_NE(again.err.find(fmt::format("\n[run] finished at step {}\n", step + 2)),
            std::string::npos)
      << again.err;
}

TEST_F(Commands, AFinishedRunSaysHowToGoOn) {
  const std::string config = read_file("test", *folder_ / "runs/tiny/config.toml");
  const Outcome again = run({"train", "runs/tiny"});
  EXPECT_EQ(again.code, 0);
  EXPECT_NE(again.err.find("\n[run] runs/tiny is finished, at step 3; to go on: heed train "
                           "runs/tiny --set train.steps=...\n"),
            std::string::npos)
      << again.err;
  EXPECT_EQ(again.err.find("goes on from"), std::string::npos) << again.err;
  expect_refused({"train", "runs/tiny", "--set", "train.steps=2"},
                 "[run] train.steps = 2, runs/tiny is at step 3 already; ask for more, or name "
                 "another folder with --run\n");
  EXPECT_EQ(read_file("test", *folder_ / "runs/tiny/config.toml"), config);
}

TEST_F(Commands, EpochsEndARunLikewise) {
  const Arguments training = {"train", "tiny.toml",     "--run", "epochs",
                              "--set", "train.steps=0", "--set", "data.validation=none"};
  const auto with_epochs = [&](const std::string& epochs) {
    Arguments all = training;
    all.insert(all.end(), {"--set", "train.epochs=" + epochs});
    return all;
  };
  ASSERT_EQ(run(with_epochs("2")).code, 0);
  const auto step = json::parse(run({"inspect", "epochs", "--json"}).out)["step"].get<int64_t>();
  const Outcome again = run(with_epochs("2"));
  EXPECT_NE(again.err.find(fmt::format("\n[run] epochs is finished, at step {}; to go on: heed "
                                       "train epochs --set train.epochs=...\n",
                                       step)),
            std::string::npos)
      << again.err;
  expect_refused(with_epochs("1"), fmt::format("[run] train.epochs = 1 ends at step {}, epochs is "
                                               "at step {} already; ask for more, or name another "
                                               "folder with --run\n",
                                               step / 2, step));
}

TEST_F(Commands, TheLogTellsLossFromNll) {
  EXPECT_NE(training_.err.find("\n[validation] step 3  nll "), std::string::npos) << training_.err;
  const auto train_line = [](const std::string& log) {
    const size_t begin = log.find("[train] step 3/3");
    return log.substr(begin, log.find('\n', begin) - begin);
  };
  EXPECT_EQ(train_line(training_.err).find("  nll "), std::string::npos) << training_.err;
  const Outcome smoothed =
      run({"train", "tiny.toml", "--run", "smoothed", "--set", "train.label_smoothing=0.1"});
  const std::string line = train_line(smoothed.err);
  EXPECT_LT(line.find("  loss "), line.find("  nll ")) << line;
  EXPECT_NE(line.find("  nll "), std::string::npos) << line;
}

TEST_F(Commands, AFailedStartLeavesNoFolderAndAGoodOneLogsItsCorpora) {
  EXPECT_EQ(run({"train", "tiny.toml", "--run", "failed", "--set", "data.train=nosuch.tsv"}).code,
            2);
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "failed"));
  const std::string log = read_file("test", *folder_ / "runs/tiny/log.txt");
  EXPECT_NE(log.find(" [data] grammar:200:3-6: 200 pairs"), std::string::npos) << log;
  EXPECT_LT(log.find(" [run] heed "), log.find(" [data] grammar:200:3-6: 200 pairs")) << log;
}

TEST_F(Commands, ARefusedChangeNamesEveryKey) {
  expect_refused(
      {"train", "tiny.toml", "--set", "model.width=9", "--set", "train.optimizer=sgd"},
      R"([run] runs/tiny was begun with another config; take the change back, or train anew in another folder (--run):
  model.width was 8, now 9
  model.embedding_width was 8, now 9
  model.attention_width was 8, now 9
  train.optimizer was "adam", now "sgd"
  train.learning_rate was 0.001, now 0.1
  train.epsilon was 1e-08, now 0.0
)");
}

}  // namespace
}  // namespace heed::test
