#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/file.h"
#include "tests/train/run_program.h"
#include "tests/train/tiny_run.h"

namespace heed::test {
namespace {

using nlohmann::json;

class Commands : public TinyRun {
 protected:
  static void expect_corpus_refused(const std::string& bytes, const std::string& text) {
    write_file("test", *folder_ / "bad.tsv", bytes);
    expect_refused({"train", "tiny.toml", "--run", "refused", "--set", "data.train=bad.tsv"}, text);
  }
};

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
                 "[data] nosuch.tsv: no such file in " + folder_->path() +
                     "; a relative path begins where heed is called\n");
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
  expect_corpus_refused(
      "a\tb\nc\td\xE9!\n",
      "[data] bad.tsv:2: byte 4 of the line, 0xE9, is no UTF-8; convert it "
      "(iconv -f LATIN1 -t UTF-8), or train with data.invalid_utf8 = \"replace\"\n");
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

TEST_F(Commands, SubwordsNameTheSideThatTheyAreOf) {
  Arguments training = {"train",    "tiny.toml", "--run",
                        "subwords", "--set",     "data.tokenizer=subword"};
  const Outcome few = run(training);
  ASSERT_EQ(few.code, 0) << few.err;
  for (const char* side : {"source", "target"}) {
    EXPECT_NE(few.err.find(fmt::format("\n[data] grammar:200:3-6, {} gives ", side)),
              std::string::npos)
        << few.err;
  }
  training.insert(training.end(), {"--run", "refused", "--set", "data.subword_size=16"});
  training.erase(training.begin() + 2, training.begin() + 4);
  expect_refused(training,
                 "[data] data.subword_size = 16 is fewer than the characters of grammar:200:3-6, "
                 "source: at least 26 is needed\n");
}

TEST_F(Commands, NoRunFolder) {
  expect_refused({"train", "tiny.toml", "--run", ""},
                 "[heed] --run: is empty, a folder is expected; see `heed train --help`\n");
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
                 "[checkpoint] tiny.toml is no checkpoint of heed; a config is trained first (heed "
                 "train tiny.toml)\n");
  for (const char* part : {"runs/tiny/checkpoints", "runs/tiny/checkpoints/"}) {
    expect_refused({"translate", part},
                   std::string("[run] ") + part + " is a part of a run folder: name runs/tiny\n");
  }
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
                 "[heed] --beam is x, a number is expected; see `heed translate --help`\n");
  expect_refused({"translate", "runs/tiny", "--beam", "2.5"},
                 "[heed] --beam is 2.5, a whole number is expected; see `heed translate --help`\n");
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
  refused({"--threads", "-1"}, "--threads is -1, from 0 to 4096 is expected");
  refused({"--n-best", "5", "--beam", "2"},
          "--n-best 5 is above --beam 2: a beam holds no more translations than that");
  refused({"--max-length", "-1"}, "--max-length is -1, from 0 to 1000000 is expected");
  refused({"--length-penalty", "nan"}, "--length-penalty is nan, from 0 to 10 is expected");
  refused({"--max-length", "3", "--min-length", "4"},
          "the least length, 4, is above the greatest, 3: see --min-length and --max-length");
}

TEST_F(Commands, OtherOptionsOutOfRange) {
  const auto refused = [](const Arguments& arguments, const std::string& text) {
    expect_refused(arguments, "[heed] " + text + "\n");
  };
  refused({"evaluate", "runs/tiny", "--by-length", "--length-step", "5000"},
          "--length-step is 5000, from 1 to 1000 is expected");
  refused({"evaluate", "runs/tiny", "--alignments", "a.html", "--alignments-shown", "0"},
          "--alignments-shown is 0, from 1 to 10000 is expected");
  refused({"evaluate", "runs/tiny", "--bleu-tokenize", "14a"},
          "--bleu-tokenize is 14a, \"13a\" or \"none\" is expected");
  refused({"generate", "runs/tiny", "--tokens", "0"}, "--tokens is 0, at least 1 is expected");
  refused({"bench", "--seconds", "0"}, "--seconds is 0, above 0 and at most 3600 is expected");
  refused({"gradcheck", "--seed", "-1"}, "--seed is -1, at least 0 is expected");
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
  train.steps = 3
)");
}

// The weights of this run stand still: it has its best checkpoint at its first validation.
TEST_F(Commands, InspectShowsTheLatestOfARun) {
  ASSERT_EQ(
      run({"train", "tiny.toml", "--run", "still", "--set", "train.learning_rate=1e-30"}).code, 0);
  ASSERT_EQ(run({"train", "still", "--set", "train.steps=4"}).code, 0);
  const json values = json::parse(run({"inspect", "still", "--json"}).out);
  EXPECT_EQ(values["best_step"], 3);
  EXPECT_EQ(values["step"], 4);
  EXPECT_NE(values["config"].get<std::string>().find("\nsteps = 4 "), std::string::npos);
}

TEST_F(Commands, AReportIsCalledByItsFolder) {
  ASSERT_EQ(run({"train", "tiny.toml", "--run", "mine/other"}).code, 0);
  EXPECT_NE(read_file("test", *folder_ / "mine/other/report/index.html")
                .find("<title>mine/other</title>"),
            std::string::npos);
}

// As the report and `heed evaluate` call and write them.
TEST_F(Commands, InspectShowsEveryScoreOfAValidation) {
  const std::string out = run({"inspect", "runs/tiny"}).out;
  EXPECT_NE(out.find("\nstep  epoch     nll  perplexity  BLEU  chrF  exact  alignment\n"),
            std::string::npos)
      << out;
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
      fmt::format("\n[run] stopped at step {}; the same command goes on from here\n"
                  "[run] curves and samples: stopped/report/index.html\n",
                  step)))
      << stopped.err;
  EXPECT_NE(read_file("test", *folder_ / "stopped/report/index.html")
                .find(fmt::format("rnnsearch, latest checkpoint at step {}\n", step)),
            std::string::npos);
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
  std::filesystem::create_directory(*folder_ / "fresh");
  EXPECT_EQ(
      run({"train", "tiny.toml", "--run", "fresh/a/b", "--set", "data.train=nosuch.tsv"}).code, 2);
  EXPECT_TRUE(std::filesystem::is_empty(*folder_ / "fresh"));
  const std::string log = read_file("test", *folder_ / "runs/tiny/log.txt");
  EXPECT_NE(log.find(" [data] grammar:200:3-6: 200 pairs"), std::string::npos) << log;
  EXPECT_LT(log.find(" [run] heed "), log.find(" [data] grammar:200:3-6: 200 pairs")) << log;
}

TEST_F(Commands, AFolderThatCannotBeMadeIsNoticedBeforeACorpusIsRead) {
  const auto refused = [](const std::string& folder, const std::string& reason) {
    const Outcome outcome =
        run({"train", "tiny.toml", "--run", folder, "--set", "data.train=nosuch.tsv"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err, "[run] the folder " + folder + " cannot be made: " + reason + "\n");
  };
  refused("tiny.toml/run", "Not a directory");
  if (geteuid() != 0) {  // who may write everywhere
    std::filesystem::create_directory(*folder_ / "closed");
    std::filesystem::permissions(*folder_ / "closed", std::filesystem::perms::owner_read);
    refused("closed/a/run", "Permission denied");
  }
}

TEST_F(Commands, ARefusedChangeNamesEveryKey) {
  expect_refused(
      {"train", "tiny.toml", "--set", "model.width=9", "--set", "train.optimizer=sgd"},
      R"([run] runs/tiny was begun with another config; go on as it was (heed train runs/tiny), or train anew in another folder (--run):
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
