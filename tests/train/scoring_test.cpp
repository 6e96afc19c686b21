#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/version.h"
#include "tests/support/error_of.h"
#include "train/scoring/bleu.h"
#include "train/scoring/by_length.h"
#include "train/scoring/chrf.h"
#include "train/scoring/exact_match.h"

namespace heed::train {
namespace {

constexpr double tolerance = 1e-9;

// Reference figures: sacreBLEU 2.6.0,
//   BLEU(tokenize=..., lowercase=..., smooth_method=..., force=True).corpus_score(h, [r]).score
//   CHRF(lowercase=...).corpus_score(h, [r]).score
struct Reference {
  std::string name;
  std::vector<std::string> hypotheses;
  std::vector<std::string> references;
  std::vector<double> bleu;  // 13a, none, 13a lower-cased, none lower-cased
  double unsmoothed;         // 13a
  std::vector<double> chrf;  // as it is, lower-cased
};

const std::vector<Reference>& reference_figures() {
  static const std::vector<Reference> figures = {
      {"Varied",
       {"The cat sat on the mat.", "A quick brown fox jumps over the dog, doesn't it?",
        "He paid $1,234.50 in 1990-1995."},
       {"The cat is sitting on the mat.",
        "The quick brown fox jumped over the lazy dog, didn't it?",
        "He paid $1,234.50 between 1990-1995."},
       {36.9334589331436, 20.95428525290755, 36.9334589331436, 20.95428525290755},
       36.9334589331436,
       {61.85524736828986, 62.02428537498705}},
      {"Equal",
       {"le chat noir dort .", "nous ne chantons pas ."},
       {"le chat noir dort .", "nous ne chantons pas ."},
       {100.00000000000004, 100.00000000000004, 100.00000000000004, 100.00000000000004},
       100.00000000000004,
       {100.0, 100.0}},
      {"EmptyHypothesis",
       {"", "the dog runs in the garden"},
       {"the cat sleeps", "the dog runs in the big garden"},
       {40.83056064145291, 40.83056064145291, 40.83056064145291, 40.83056064145291},
       40.83056064145291,
       {55.48962684842685, 55.48962684842685}},
      {"AllHypothesesEmpty",
       {"", ""},
       {"the cat sleeps", "the dog"},
       {0.0, 0.0, 0.0, 0.0},
       0.0,
       {0.0, 0.0}},
      {"EmptyReference",
       {"the cat sleeps here now", " "},
       {"", "\u00A0"},
       {0.0, 0.0, 0.0, 0.0},
       0.0,
       {0.0, 0.0}},
      {"OneWord", {"chat"}, {"chat"}, {0.0, 0.0, 0.0, 0.0}, 0.0, {100.0, 100.0}},
      {"ShortSentences",
       {"le chat .", "un chien !"},
       {"le chat .", "deux chiens !"},
       {0.0, 0.0, 0.0, 0.0},
       0.0,
       {54.603621167500606, 54.603621167500606}},
      {"NoOverlap",
       {"aaa bbb ccc ddd"},
       {"eee fff ggg hhh iii"},
       {0.0, 0.0, 0.0, 0.0},
       0.0,
       {0.0, 0.0}},
      {"SmoothedOrders",
       {"the cat on mat the sat"},
       {"the cat sat on the mat today"},
       {18.084532109881547, 18.084532109881547, 18.084532109881547, 18.084532109881547},
       0.0,
       {41.56538164708563, 41.56538164708563}},
      {"Entities",
       {"He said &quot;yes&quot; &amp; left &lt;now&gt;"},
       {"He said \"yes\" & left <later>"},
       {78.25422900366438, 17.965205598154213, 78.25422900366438, 17.965205598154213},
       78.25422900366438,
       {27.63228739880227, 27.63228739880227}},
      {"NumbersAndDashes",
       {"3.14 and 1,000,000 or 5- 6-7 , .5 x."},
       {"3.14 or 1,000,000 and 5-6-7, .5 x ."},
       {73.61703354503862, 7.129384882260374, 73.61703354503862, 7.129384882260374},
       73.61703354503862,
       {65.89662042198275, 65.89662042198275}},
      {"Unicode",
       {"L'École naïve coûte 5€… 東京 です。", "Σοφός ΟΔΟΣ İstanbul"},
       {"l'école naïve coûtait 5€… 東京\u3000です。", "σοφός οδός i\u0307stanbul"},
       {25.506862775189653, 25.506862775189653, 32.46679154750988, 32.46679154750988},
       0.0,
       {55.60006789822538, 77.36568659472309}},
      {"CaseOnly",
       {"THE CAT SLEEPS IN THE GARDEN"},
       {"The cat sleeps in the garden"},
       {0.0, 0.0, 100.00000000000004, 100.00000000000004},
       0.0,
       {0.7246376811594203, 100.0}},
      {"LongerThanReference",
       {"the the the the the the cat sleeps in the garden"},
       {"the cat sleeps in the garden"},
       {46.17366309441026, 46.17366309441026, 46.17366309441026, 46.17366309441026},
       46.17366309441026,
       {87.18917789217366, 87.18917789217366}},
      {"ReferenceShorterThanAnOrder",
       {"un chat noir", "le chien dort bien"},
       {"oui", "le chien dort"},
       {41.11336169005198, 41.11336169005198, 41.11336169005198, 41.11336169005198},
       0.0,
       {83.47514638036215, 83.47514638036215}},
  };
  return figures;
}

TEST(Bleu, EqualsSacrebleu) {
  for (const auto& figure : reference_figures()) {
    SCOPED_TRACE(figure.name);
    for (int i = 0; i < 4; ++i) {
      const BleuOptions options = {
          .tokenizer = i % 2 == 0 ? BleuTokenizer::mteval_13a : BleuTokenizer::none,
          .lowercase = i >= 2};
      EXPECT_NEAR(bleu(figure.hypotheses, figure.references, options).score, figure.bleu[i],
                  tolerance)
          << i;
    }
    const BleuOptions plain = {.smoothing = BleuSmoothing::none};
    EXPECT_NEAR(bleu(figure.hypotheses, figure.references, plain).score, figure.unsmoothed,
                tolerance);
  }
}

TEST(Bleu, GivesItsParts) {
  const auto& figure = reference_figures().front();
  const BleuScore result = bleu(figure.hypotheses, figure.references);
  const std::vector<double> precisions = {82.14285714285714, 60.0, 31.818181818181817,
                                          15.789473684210526};
  for (int n = 0; n < BleuScore::max_order; ++n) {
    EXPECT_NEAR(result.precisions[n], precisions[n], tolerance) << n;
  }
  EXPECT_NEAR(result.brevity_penalty, 0.9310627797040228, tolerance);
  EXPECT_EQ(result.hypothesis_length, 28);
  EXPECT_EQ(result.reference_length, 30);
  EXPECT_EQ(result.matches, (std::array<int64_t, 4>{23, 15, 7, 3}));
  EXPECT_EQ(result.totals, (std::array<int64_t, 4>{28, 25, 22, 19}));
}

TEST(Bleu, IsAHundredForTheSame) {
  for (int words = 4; words < 12; ++words) {
    std::vector<std::string> text(1);
    for (int i = 0; i < words; ++i) {
      text.front() += fmt::format("w{} ", i * i);
    }
    EXPECT_EQ(bleu(text, text).score, 100);
  }
}

TEST(Bleu, SignsWhatItDid) {
  const std::vector<std::string> text = {"le chat dort ."};
  const std::string version = std::string("version:heed-") + heed::version();
  EXPECT_EQ(bleu(text, text).signature, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|" + version);
  EXPECT_EQ(
      bleu(text, text,
           {.tokenizer = BleuTokenizer::none, .smoothing = BleuSmoothing::none, .lowercase = true})
          .signature,
      "nrefs:1|case:lc|eff:no|tok:none|smooth:none|" + version);
  EXPECT_EQ(chrf(text, text).signature, "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|" + version);
  EXPECT_EQ(chrf(text, text, {.lowercase = true}).signature,
            "nrefs:1|case:lc|eff:yes|nc:6|nw:0|space:no|" + version);
}

// sacreBLEU 2.6.0: Tokenizer13a()(text.rstrip()).
TEST(Bleu, Tokenizes13a) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"Hello, world!", "Hello , world !"},
      {"It's 1,000.50 (about) 3.", "It's 1,000.50 ( about ) 3 ."},
      {"1990-1995, 5- -5 a-b", "1990 - 1995 , 5 - -5 a-b"},
      {"x.y ... ,, 5,", "x . y . . . , , 5 ,"},
      {"&quot;a&quot; &amp;lt; &lt;b&gt;", "\" a \" < < b >"},
      {"a-\nb\nc", "ab c"},
      {"<skipped>a<skipped>", "a"},
      {"é. « oui »", "é . « oui »"},
      {"  spaced\u3000out\u00A0 ", "spaced out"},
      {"50% a/b c@d [e] {f} ~g `h` ^", "50 % a / b c @ d [ e ] { f } ~ g ` h ` ^"},
      {"", ""},
      {".", "."},
  };
  for (const auto& [text, tokens] : expected) {
    EXPECT_EQ(tokenize_13a(text), tokens);
  }
}

TEST(Bleu, StrayBytesAreScoredAsTheyAre) {
  const std::vector<std::string> broken = {"a \xff b \xc3 c d"};
  EXPECT_NEAR(bleu(broken, broken, {.lowercase = true}).score, 100.0, tolerance);
  EXPECT_NEAR(chrf(broken, broken, {.lowercase = true}).score, 100.0, tolerance);
  EXPECT_LT(chrf(broken, std::vector<std::string>{"a \xfe b \xc3 c d"}).score, 100.0);
}

TEST(Chrf, EqualsSacrebleu) {
  for (const auto& figure : reference_figures()) {
    SCOPED_TRACE(figure.name);
    EXPECT_NEAR(chrf(figure.hypotheses, figure.references).score, figure.chrf[0], tolerance);
    EXPECT_NEAR(chrf(figure.hypotheses, figure.references, {.lowercase = true}).score,
                figure.chrf[1], tolerance);
  }
}

TEST(ExactMatch, IsTheFractionOfEqualSentences) {
  const std::vector<std::string> references = {"le chat dort .", "oui", "", "non"};
  EXPECT_EQ(exact_match(references, references), 1.0);
  EXPECT_EQ(exact_match(std::vector<std::string>{"le chat dort .", "Oui", "", "non "}, references),
            0.5);
}

// sacreBLEU 2.6.0 on the sentences of either bucket.
TEST(BleuByLength, ScoresEachBucket) {
  const std::vector<std::string> hypotheses = {"le chat dort .", "un chien court vite .",
                                               "nous voyons le grand jardin rouge .", "je dors ."};
  const std::vector<std::string> references = {"le chat dort .", "un chien noir court .",
                                               "nous voyons le petit jardin rouge .",
                                               "je chante ."};
  const std::vector<int64_t> lengths = {4, 5, 7, 3};
  const auto buckets = bleu_by_length(lengths, hypotheses, references);
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].min_length, 1);
  EXPECT_EQ(buckets[0].max_length, 5);
  EXPECT_EQ(buckets[0].sentences, 3);
  EXPECT_NEAR(buckets[0].bleu.score, 45.040005160234486, tolerance);
  EXPECT_EQ(buckets[1].min_length, 6);
  EXPECT_EQ(buckets[1].max_length, 10);
  EXPECT_EQ(buckets[1].sentences, 1);
  EXPECT_NEAR(buckets[1].bleu.score, 41.11336169005196, tolerance);
}

TEST(BleuByLength, LeavesOutEmptyBucketsAndTakesAnyWidth) {
  const std::vector<std::string> text = {"a b c d", "e f g h", "i j k l", "m n o p"};
  const auto buckets = bleu_by_length(std::vector<int64_t>{0, 3, 4, 11}, text, text, 3);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].sentences, 2);  // lengths 0 and 3
  EXPECT_EQ(buckets[1].min_length, 4);
  EXPECT_EQ(buckets[1].max_length, 6);
  EXPECT_EQ(buckets[1].sentences, 1);
  EXPECT_EQ(buckets[2].min_length, 10);
  EXPECT_EQ(buckets[2].max_length, 12);
  EXPECT_EQ(buckets[2].sentences, 1);
}

TEST(Scores, NameAnEmptyOrUnequalCorpus) {
  const std::vector<std::string> none;
  const std::vector<std::string> one = {"a"};
  const std::vector<std::string> two = {"a", "b"};
  EXPECT_EQ(test::error_of([&] { bleu(none, none); }), "[bleu] there is no sentence to score");
  EXPECT_EQ(test::error_of([&] { bleu(two, one); }),
            "[bleu] each hypothesis needs one reference: 2 hypotheses, 1 references");
  EXPECT_EQ(test::error_of([&] { chrf(none, none); }), "[chrf] there is no sentence to score");
  EXPECT_EQ(test::error_of([&] { chrf(one, two); }),
            "[chrf] each hypothesis needs one reference: 1 hypotheses, 2 references");
  EXPECT_EQ(test::error_of([&] { exact_match(none, none); }),
            "[exact match] there is no sentence to score");
  EXPECT_EQ(test::error_of([&] { exact_match(none, one); }),
            "[exact match] each hypothesis needs one reference: 0 hypotheses, 1 references");
  const std::vector<int64_t> lengths = {1};
  EXPECT_EQ(test::error_of([&] { bleu_by_length({}, none, none); }),
            "[bleu by length] there is no sentence to score");
  EXPECT_EQ(test::error_of([&] { bleu_by_length(lengths, two, two); }),
            "[bleu by length] each hypothesis needs the length of its source: 2 hypotheses, 1 "
            "lengths");
  EXPECT_EQ(test::error_of([&] { bleu_by_length(lengths, one, one, 0); }),
            "[bleu by length] the bucket width is 0; it must be at least 1");
  EXPECT_EQ(test::error_of([&] { bleu_by_length(std::vector<int64_t>{-2}, one, one); }),
            "[bleu by length] the source of sentence 0 has length -2");
}

}  // namespace
}  // namespace heed::train
