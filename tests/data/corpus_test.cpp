#include "data/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "data/grammar.h"
#include "tests/data/scratch.h"

namespace heed::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

std::vector<WordAlignment> alignments(const PairCorpus& corpus) {
  std::vector<WordAlignment> result;
  corpus.for_each([&](const PairView& pair) {
    if (pair.alignment != nullptr) {
      result.push_back(*pair.alignment);
    }
  });
  return result;
}

std::vector<std::pair<std::string, std::string>> texts(const PairCorpus& corpus) {
  std::vector<std::pair<std::string, std::string>> result;
  corpus.for_each([&](const PairView& pair) { result.emplace_back(pair.source, pair.target); });
  return result;
}

class Corpora : public ScratchFolder {
 protected:
  std::string loading(const std::vector<std::string>& name,
                      const CorpusOptions& options = {}) const {
    return refusal([&] { load_pair_corpus(name, Split::train, options); });
  }
};

TEST_F(Corpora, ATsvFileGivesSourceAndTarget) {
  const std::string file = write("fra.tsv", "Go.\tVa !\nHi there.\tSalut à tous.\n");
  const PairCorpus corpus = load_pair_corpus({file}, Split::train);
  EXPECT_THAT(texts(corpus), ElementsAre(Pair("Go.", "Va !"), Pair("Hi there.", "Salut à tous.")));
  EXPECT_EQ(corpus.name(), file);
  EXPECT_THAT(alignments(corpus), IsEmpty());
  EXPECT_EQ(corpus.empty_dropped(), 0);
}

TEST_F(Corpora, FurtherColumnsAreIgnoredCountedAndSaid) {
  const std::string file =
      write("fra.txt", "Go.\tVa !\tCC-BY 2.0 (France)\nHi.\tSalut.\nRun!\tCours !\t\tx\n");
  CaptureStderr();
  const PairCorpus corpus = load_pair_corpus({file}, Split::train);
  const std::string log = GetCapturedStderr();
  EXPECT_THAT(texts(corpus),
              ElementsAre(Pair("Go.", "Va !"), Pair("Hi.", "Salut."), Pair("Run!", "Cours !")));
  EXPECT_EQ(without_folder(log),
            "[data] fra.txt: 2 lines have more than two columns; the others were ignored\n");
}

TEST_F(Corpora, ALineWithoutATabIsNamed) {
  EXPECT_EQ(loading({write("bad.tsv", "Go.\tVa !\nHi. Salut.\n")}),
            "[data] bad.tsv:2: there is no TAB; a line is source TAB target");
}

TEST_F(Corpora, EmptyAndBlankSidesAreLeftOutAndCounted) {
  const std::string file = write(
      "holes.tsv",
      "Go.\tVa !\n\tseul\n  \tseul\n\nHi.\t \t\nA.\tB.\nHi.\t\u00A0 \u3000\n\x1F\tseul\nÀ.\té\n");
  CaptureStderr();
  const PairCorpus corpus = load_pair_corpus({file}, Split::train);
  GetCapturedStderr();
  EXPECT_THAT(texts(corpus), ElementsAre(Pair("Go.", "Va !"), Pair("A.", "B."), Pair("À.", "é")));
  EXPECT_EQ(corpus.empty_dropped(), 6);
}

TEST_F(Corpora, EmptySidesAreAnErrorWhenAskedFor) {
  const CorpusOptions strict{.drop_empty = false};
  EXPECT_EQ(loading({write("a.tsv", "Go.\tVa !\nHi.\t \n")}, strict),
            "[data] a.tsv: the target of pair 2 is empty; set data.empty = \"drop\" to leave "
            "such out");
  EXPECT_EQ(loading({write("a.tsv", "\tVa !\n")}, strict),
            "[data] a.tsv: the source of pair 1 is empty; set data.empty = \"drop\" to leave "
            "such out");
  EXPECT_EQ(loading({write("a.tsv", "Go.\tVa !\n\n")}, strict),
            "[data] a.tsv:2: there is no TAB; a line is source TAB target");
}

TEST_F(Corpora, ACorpusOfNothingIsAnError) {
  EXPECT_EQ(loading({write("none.tsv", "\t\n \tB.\n")}),
            "[data] none.tsv holds no pair with text on both sides");
  EXPECT_EQ(loading({path("absent.tsv")}), "[data] absent.tsv: no such file");
  EXPECT_EQ(loading({}), "[data] a corpus is one path, two paths or a generator; 0 were given");
  EXPECT_EQ(loading({"a", "b", "c"}),
            "[data] a corpus is one path, two paths or a generator; 3 were given");
}

TEST_F(Corpora, InvalidUtf8FollowsTheOption) {
  const std::string file = write("latin.tsv", "coffee\tcaf\xE9\n");
  EXPECT_EQ(loading({file}),
            "[data] latin.tsv:1: byte 11 of the line, 0xE9, is no UTF-8; convert it "
            "(iconv -f LATIN1 -t UTF-8), or train with data.invalid_utf8 = \"replace\"");
  CaptureStderr();
  const PairCorpus corpus =
      load_pair_corpus({file}, Split::train, {.invalid_utf8 = InvalidUtf8::replace});
  GetCapturedStderr();
  EXPECT_THAT(texts(corpus), ElementsAre(Pair("coffee", "caf\uFFFD")));
}

TEST_F(Corpora, TwoFilesRunParallel) {
  const std::string source = write("train.en", "Go.\n\nHi.\tthere\nRun!\n");
  const std::string target = write("train.fr", "Va !\nseul\nSalut.\nCours !");
  const PairCorpus corpus = load_pair_corpus({source, target}, Split::train);
  EXPECT_THAT(texts(corpus), ElementsAre(Pair("Go.", "Va !"), Pair("Hi.\tthere", "Salut."),
                                         Pair("Run!", "Cours !")));
  EXPECT_EQ(without_folder(corpus.name()), "train.en + train.fr");
  EXPECT_EQ(corpus.empty_dropped(), 1);
}

// Twenty lines of lengths that tell them apart, and the same text without line `missing` (from 1).
std::pair<std::string, std::string> with_and_without(int missing) {
  std::string whole;
  std::string shorter;
  for (int line = 1; line <= 20; ++line) {
    const std::string text(static_cast<size_t>(line * 7 % 20 * 5 + 3), 'x');
    whole += text + "\n";
    shorter += line == missing ? "" : text + "\n";
  }
  return {whole, shorter};
}

TEST_F(Corpora, FilesOfUnequalLengthAreNamedWithBothCountsAndTheLikelyPlace) {
  for (const int missing : {1, 2, 9, 19, 20}) {
    const auto [whole, shorter] = with_and_without(missing);
    const std::string a = write("train.en", whole);
    const std::string b = write("train.fr", shorter);
    EXPECT_EQ(loading({a, b}),
              "[data] train.en has 20 lines, train.fr has 19; by their lengths "
              "they seem to drift apart at line " +
                  std::to_string(missing));
    EXPECT_EQ(loading({b, a}),
              "[data] train.fr has 19 lines, train.en has 20; by their lengths "
              "they seem to drift apart at line " +
                  std::to_string(missing));
  }
}

TEST_F(Corpora, GeneratorsAreKnownByName) {
  EXPECT_TRUE(is_generator("grammar:100"));
  EXPECT_TRUE(is_generator("reverse:100:3-5"));
  EXPECT_TRUE(is_generator("grammar:lots")) << "a wrong size is said when it is loaded";
  EXPECT_FALSE(is_generator("grammar"));
  EXPECT_FALSE(is_generator("gramar:100"));
  EXPECT_FALSE(is_generator("folder:of/train.tsv"));
  EXPECT_FALSE(is_generator(""));
}

TEST_F(Corpora, TheGrammarComesWithItsAlignment) {
  const PairCorpus corpus = load_pair_corpus({"grammar:50:5-9"}, Split::validation, {.seed = 3});
  const auto expected = generate_grammar(
      {.count = 50, .split = Split::validation, .min_length = 5, .max_length = 9, .seed = 3});
  EXPECT_EQ(corpus.name(), "grammar:50:5-9");
  const auto pairs = texts(corpus);
  const auto truth = alignments(corpus);
  ASSERT_EQ(pairs.size(), expected.size());
  ASSERT_EQ(truth.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(pairs[i].first, expected[i].source);
    EXPECT_EQ(pairs[i].second, expected[i].target);
    EXPECT_EQ(truth[i], expected[i].alignment);
  }
}

TEST_F(Corpora, ReverseGivesDigitsAndTheirReversalWithTheAlignment) {
  const PairCorpus corpus = load_pair_corpus({"reverse:300:2-4"}, Split::train);
  const std::vector<SentencePair> pairs = corpus.first(1000);
  const auto truth = alignments(corpus);
  ASSERT_EQ(pairs.size(), 300U);
  ASSERT_EQ(truth.size(), 300U);
  std::vector<int> lengths(5, 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const SentencePair& pair = pairs[i];
    EXPECT_THAT(pair.source, ::testing::MatchesRegex("[0-9]( [0-9])+"));
    EXPECT_EQ(pair.target, std::string(pair.source.rbegin(), pair.source.rend()));
    const size_t words = (pair.source.size() + 1) / 2;
    ASSERT_TRUE(words >= 2 && words <= 4) << pair.source;
    ++lengths[words];
    ASSERT_EQ(truth[i].size(), words);
    for (size_t j = 0; j < words; ++j) {
      EXPECT_THAT(truth[i][j], ElementsAre(static_cast<int>(words - 1 - j)));
    }
  }
  for (const size_t words : {2U, 3U, 4U}) {
    EXPECT_GT(lengths[words], 60) << words << " digits should be a third of 300";
  }
}

TEST_F(Corpora, ReverseIsTestedPastTheLengthsItTeaches) {
  const auto longest = [](Split split) {
    size_t digits = 0;
    for (const SentencePair& pair : load_pair_corpus({"reverse:1000"}, split).first(1000)) {
      digits = std::max(digits, (pair.source.size() + 1) / 2);
    }
    return digits;
  };
  EXPECT_EQ(longest(Split::train), 25U);
  EXPECT_EQ(longest(Split::validation), 25U);
  EXPECT_EQ(longest(Split::test), 30U);
}

TEST_F(Corpora, AGeneratorDependsOnSeedAndSplitAlone) {
  const auto reverse = [](Split split, uint64_t seed) {
    return texts(load_pair_corpus({"reverse:20:20-25"}, split, {.seed = seed}));
  };
  EXPECT_EQ(reverse(Split::train, 1), reverse(Split::train, 1));
  EXPECT_NE(reverse(Split::train, 1), reverse(Split::train, 2));
  EXPECT_NE(reverse(Split::train, 1), reverse(Split::validation, 1));
  EXPECT_NE(reverse(Split::validation, 1), reverse(Split::test, 1));
}

TEST_F(Corpora, AMalformedGeneratorIsNamed) {
  for (const std::string name :
       {"grammar:", "grammar:lots", "grammar:0", "grammar:-5", "grammar:10x", "grammar:1e3",
        "grammar:99999999999999999999", "reverse:10:", "reverse:10:5", "reverse:10:7-3",
        "reverse:10:0-3", "reverse:10:-3", "reverse:10:3-", "reverse:10:3-5:7"}) {
    EXPECT_EQ(loading({name}), "[data] '" + name +
                                   "' is no corpus; a generator is NAME:COUNT or "
                                   "NAME:COUNT:LEAST-MOST, as in grammar:20000:3-15");
  }
}

}  // namespace
}  // namespace heed::data
