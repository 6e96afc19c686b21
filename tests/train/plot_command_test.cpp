#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/file.h"
#include "tests/train/run_program.h"
#include "tests/train/svg_text.h"
#include "tests/train/tiny_run.h"

namespace heed::test {
namespace {

class PlotCommand : public TinyRun {};

TEST_F(PlotCommand, WritesPagesAndPicturesAlone) {
  expect_refused({"plot", "runs/tiny", "--output", "curves.png"},
                 "[heed] --output is curves.png: a name ending in .html (a page of one run) or "
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

TEST_F(PlotCommand, OfTrainingWhereAskedFor) {
  const Outcome validated = run({"plot", "runs/tiny", "--value", "nll", "--output", "v.svg"});
  ASSERT_EQ(validated.code, 0) << validated.err;
  const Outcome trained =
      run({"plot", "runs/tiny", "--value", "nll", "--training", "--output", "t.svg"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(read_file("test", *folder_ / "v.svg").find("(training)"), std::string::npos);
  EXPECT_NE(read_file("test", *folder_ / "t.svg").find(">runs/tiny (training)<"),
            std::string::npos);
  expect_refused({"plot", "runs/tiny", "--training", "--output", "curves.html"},
                 "[plot] --training is of an .svg picture, but --output is curves.html: a page "
                 "shows both\n");
}

TEST_F(PlotCommand, ARunWithoutValidationIsDrawnAsTrainingOrLeftOutInWords) {
  const Outcome trained =
      run({"train", "tiny.toml", "--run", "blind", "--set", "data.validation=none"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto plot = [](const std::string& value) {
    return run({"plot", "runs/tiny", "blind", "--value", value, "--output", value + ".svg"});
  };
  EXPECT_EQ(plot("nll").err, "");
  const std::string nll = read_file("test", *folder_ / "nll.svg");
  EXPECT_NE(nll.find(">blind (training)<"), std::string::npos) << nll;
  EXPECT_NE(nll.find(">runs/tiny<"), std::string::npos) << nll;
  const Outcome bleu = plot("bleu");
  EXPECT_EQ(bleu.code, 0);
  EXPECT_EQ(bleu.out, "bleu.svg\n");
  EXPECT_EQ(bleu.err, "[plot] warning: blind has no value 'bleu': it is left out\n");
}

// What no validation measures is of the training, and a long name keeps its end.
TEST_F(PlotCommand, NamesAreWholeOrCutInTheMiddle) {
  const std::string name = "runs/a_run_of_a_name_that_is_long_with_seed_1";
  const Outcome trained =
      run({"train", "tiny.toml", "--run", name, "--set", "data.validation=none"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto names = [&](const std::string& value) {
    EXPECT_EQ(run({"plot", "runs/tiny", name, "--value", value, "--output", "cut.svg"}).code, 0);
    const std::string svg = read_file("test", *folder_ / "cut.svg");
    std::vector<std::string> all = texts_of(svg);
    std::ranges::sort(all);
    std::erase_if(all, [](const std::string& text) { return !text.starts_with("runs/"); });
    return all;
  };
  EXPECT_EQ(names("learning_rate"),
            (std::vector<std::string>{"runs/a_run_of_…g_with_seed_1", "runs/tiny"}));
  EXPECT_EQ(names("nll"), (std::vector<std::string>{"runs/a_run_of_…_1 (training)", "runs/tiny"}));
}

TEST_F(PlotCommand, AValueThatIsNotThereIsAnsweredWithThoseThatAre) {
  const std::string there_are =
      "there are loss, nll, learning_rate, gradient_norm, tokens_per_second, perplexity, bleu, "
      "chrf, "
      "exact, alignment_accuracy\n";
  expect_refused({"plot", "runs/tiny", "--value", "nosuch"},
                 "[plot] no run has a value 'nosuch'; " + there_are);
  expect_refused({"plot", "runs/tiny", "--value", "BLEU"},
                 "[plot] no run has a value 'BLEU'; did you mean 'bleu'? " + there_are);
  std::filesystem::create_directory(*folder_ / "fresh");
  write_file("test", *folder_ / "fresh/metrics.jsonl", "");
  expect_refused({"plot", "fresh", "--value", "nll"},
                 "[plot] no run has a value 'nll': there are no events yet\n");
}

TEST_F(PlotCommand, APictureSaysWhatItShows) {
  const auto texts = [](const std::string& value) {
    const Outcome outcome = run({"plot", "runs/tiny", "--value", value, "--output", "value.svg"});
    EXPECT_EQ(outcome.err, "");
    auto all = texts_of(read_file("test", *folder_ / "value.svg"));
    all.resize(7);  // then the ticks of y, which depend on the training
    return all;
  };
  EXPECT_EQ(texts("bleu"),
            (std::vector<std::string>{"BLEU", "of 100", "step", "0", "1", "2", "3"}));
  EXPECT_EQ(texts("learning_rate"), (std::vector<std::string>{"Learning rate", "of an update",
                                                              "step", "0", "1", "2", "3"}));
  EXPECT_EQ(texts("exact"), (std::vector<std::string>{"Sentences equal to their reference", "%",
                                                      "step", "0", "1", "2", "3"}));
}

}  // namespace
}  // namespace heed::test
