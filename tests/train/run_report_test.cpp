#include "train/report/run_report.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/train/run_program.h"
#include "tests/train/svg_text.h"
#include "tests/train/tiny_run.h"
#include "train/report/translation_report.h"
#include "train/run_folder.h"
#include "train/translator.h"
#include "train/wording.h"

namespace heed::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Wording, CountsAndSigns) {
  EXPECT_EQ(counted(0, "token"), "0 tokens");
  EXPECT_EQ(counted(1, "token"), "1 token");
  EXPECT_EQ(counted(2, "token"), "2 tokens");
  EXPECT_EQ(fixed(-0.0004, 3), "0.000");
  EXPECT_EQ(fixed(-0.0, 0), "0");
  EXPECT_EQ(fixed(-0.0006, 3), "-0.001");
  EXPECT_EQ(fixed(-10, 1), "-10.0");
}

TEST(RunReport, CurvesOfFewPointsShareTheirSteps) {
  const std::vector<MetricsEvent> events = {
      {"train", 100, 1, {{"nll", 3}, {"learning_rate", 1e-5}}},
      {"validation", 150, 1, {{"nll", 2}, {"bleu", 7}, {"alignment_accuracy", 0.5}}},
      {"train", 200, 2, {{"nll", 1}, {"gradient_norm", 4}}}};
  const auto sections = curve_sections(events);
  ASSERT_EQ(sections.size(), 1U);
  EXPECT_EQ(sections[0].heading, "Curves");
  const auto charts = test::svgs_of(sections[0].body);
  ASSERT_EQ(charts.size(), 4U);
  EXPECT_THAT(
      test::texts_of(charts[0]),
      ElementsAre("Negative log-likelihood", "nats a token", "step", "0", "50", "100", "150", "200",
                  "1.0", "1.5", "2.0", "2.5", "3.0", "validation", "training"));
  EXPECT_THAT(test::texts_of(charts[1]),
              ElementsAre("Validation scores", "of 100", "step", "0", "50", "100", "150", "200",
                          "0", "10", "20", "30", "40", "50", "alignment", "BLEU"));
  EXPECT_THAT(test::texts_of(charts[2]),
              ElementsAre("Learning rate", "of an update", "step", "0", "50", "100", "150", "200",
                          "9e-6", "9.5e-6", "1e-5", "1.05e-5", "1.1e-5", "rate"));
  EXPECT_THAT(test::texts_of(charts[3]),
              ElementsAre("Gradient norm", "L2, before clipping", "step", "0", "50", "100", "150",
                          "200", "3.6", "3.8", "4.0", "4.2", "4.4", "norm"));
  for (const std::string& chart : charts) {
    EXPECT_EQ(test::grid_across(chart), test::grid_across(charts[0]));
  }
}

class TinyRunReport : public test::TinyRun {};

TEST_F(TinyRunReport, BeginsWithScoresAndCorpora) {
  const auto events = read_metrics(*folder_ / "runs/tiny/metrics.jsonl");
  const MetricsEvent& validation = events.back();
  ASSERT_EQ(validation.event, "validation");
  EXPECT_THAT(
      read_file("test", *folder_ / "runs/tiny/report/index.html"),
      HasSubstr(fmt::format(
          "<p class=\"introduction\">rnnsearch, best checkpoint at step 3\nnll {:.4f}, perplexity "
          "{:.3f}, BLEU {:.2f}, chrF {:.2f}, exact {:.2f}%, alignment {:.2f}%; trained on "
          "grammar:200:3-6, validated on grammar:20:3-6</p>",
          validation.value("nll"), validation.value("perplexity"), validation.value("bleu"),
          validation.value("chrf"), 100 * validation.value("exact"),
          100 * validation.value("alignment_accuracy"))));
}

TEST_F(TinyRunReport, TheScoreOfASentenceIsNoNegativeZero) {
  const Translator translator = restore_translator(RunFolder(*folder_ / "runs/tiny").load_best());
  Translation translation;
  translation.text = "le chat";
  translation.pieces = {"le", "chat"};
  translation.score = -1e-5;
  translation.attention = {{1, 0, 0}, {0, 1, 0}};
  const auto picture = alignment_picture(translator, "the cat", translation);
  ASSERT_TRUE(picture.has_value());
  EXPECT_EQ(picture->caption, "the cat  →  le chat  (score 0.000)");
}

}  // namespace
}  // namespace heed::train
