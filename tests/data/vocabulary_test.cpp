#include "data/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/error_of.h"

namespace heed::data {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;

using Tokens = std::vector<std::string>;

Tokens tokens_of(const Vocabulary& vocabulary) {
  Tokens tokens;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    tokens.push_back(vocabulary.token(id));
  }
  return tokens;
}

Vocabulary built(const std::vector<Tokens>& sentences, int64_t min_count, int64_t max_size) {
  TokenCounts counts;
  for (const Tokens& sentence : sentences) {
    for (const std::string& token : sentence) {
      ++counts[token];
    }
  }
  return Vocabulary::from_counts(counts, min_count, max_size);
}

const std::vector<Tokens> sentences = {{"b", "a", "é", "b"}, {"c", "b", "a"}, {"z", "é"}, {}};

TEST(Vocabulary, TheFirstFourTokensAreFixed) {
  EXPECT_THAT(tokens_of(Vocabulary()), ElementsAre("<pad>", "<unk>", "<s>", "</s>"));
  EXPECT_EQ(Vocabulary::padding, 0);
  EXPECT_EQ(Vocabulary::unknown, 1);
  EXPECT_EQ(Vocabulary::start, 2);
  EXPECT_EQ(Vocabulary::end, 3);
}

TEST(Vocabulary, OrdersByCountThenByBytes) {
  EXPECT_THAT(tokens_of(built(sentences, 1, 0)),
              ElementsAre("<pad>", "<unk>", "<s>", "</s>", "b", "a", "é", "c", "z"));
  EXPECT_EQ(built(sentences, 1, 0).state(),
            built({sentences.rbegin(), sentences.rend()}, 1, 0).state())
      << "the order of the sentences is no matter";
}

TEST(Vocabulary, LeavesOutRareTokensAndWhatIsPastTheSize) {
  EXPECT_THAT(tokens_of(built(sentences, 2, 0)),
              ElementsAre("<pad>", "<unk>", "<s>", "</s>", "b", "a", "é"));
  EXPECT_THAT(tokens_of(built(sentences, 1, 6)),
              ElementsAre("<pad>", "<unk>", "<s>", "</s>", "b", "a"));
  EXPECT_EQ(built(sentences, 1, 9).size(), 9);
  EXPECT_EQ(built(sentences, 1, 3).size(), 4) << "the special ones always stay";
  EXPECT_EQ(built(sentences, 4, 0).size(), 4);
}

TEST(Vocabulary, EncodesAndDecodes) {
  const Vocabulary vocabulary = built(sentences, 2, 0);
  EXPECT_THAT(vocabulary.encode({"a", "é", "c", "b", ""}), ElementsAre(5, 6, 1, 4, 1));
  EXPECT_THAT(vocabulary.decode({2, 5, 6, 1, 4, 3, 0, 0}), ElementsAre("a", "é", "<unk>", "b"));
}

TEST(Vocabulary, TheTextOfASpecialTokenIsNoSpecialToken) {
  const Vocabulary vocabulary = built({{"<s>", "<pad>", "</s>", "a"}}, 1, 0);
  EXPECT_EQ(vocabulary.size(), 5);
  EXPECT_THAT(vocabulary.encode({"<s>", "</s>", "<pad>", "<unk>", "a"}),
              ElementsAre(1, 1, 1, 1, 4));
}

TEST(Vocabulary, AnIdOutOfRangeIsNamed) {
  const Vocabulary vocabulary({"a"});
  EXPECT_EQ(test::error_of([&] { vocabulary.token(5); }), "[vocabulary] id 5 is not within 0 .. 4");
  EXPECT_EQ(test::error_of([&] { vocabulary.token(-1); }),
            "[vocabulary] id -1 is not within 0 .. 4");
  EXPECT_EQ(test::error_of([&] {
              vocabulary.decode({4, 9});
            }),
            "[vocabulary] id 9 is not within 0 .. 4");
}

TEST(Vocabulary, ATokenGivenTwiceIsNamed) {
  EXPECT_EQ(test::error_of([] {
              Vocabulary({"a", "b", "a"});
            }),
            "[vocabulary] the token 'a' is there twice");
  EXPECT_EQ(test::error_of([] {
              Vocabulary({"a", "<s>"});
            }),
            "[vocabulary] the token '<s>' is there twice");
}

TEST(Vocabulary, TheStateRoundTripsEveryCharacter) {
  const Tokens odd = {"",         " ",  "\n",   "\r\n",   "\t",     "\0"s,    "a\0b"s, "\u2028",
                      "\u0085",   "\"", "\\",   "3:abc",  "12",     ":",      "龍",    "e\u0301",
                      "\xFF\xFE", "😀",  "▁the", "\uFEFF", "\u00A0", "</pad>", "<S>"};
  const Vocabulary first(odd);
  const Vocabulary second = Vocabulary::restore(first.state());
  EXPECT_EQ(tokens_of(second), tokens_of(first));
  EXPECT_EQ(second.state(), first.state());
  EXPECT_EQ(second.encode(odd), first.encode(odd));
  EXPECT_EQ(Vocabulary::restore(Vocabulary().state()).size(), 4);
}

TEST(Vocabulary, AForeignStateIsRefusedWithTheByte) {
  struct Case {
    const char* state;
    int byte;
  };
  for (const Case& c :
       {Case{"a", 0}, Case{"1:ab", 3}, Case{"1:a5:abcd", 3}, Case{"1", 0}, Case{"-1:a", 0},
        Case{" 1:a", 0}, Case{"1:", 0}, Case{"01:a", 0}, Case{"00:", 0},
        Case{"1:a99999999999999999999:b", 3}, Case{"18446744073709551615:a", 0}}) {
    EXPECT_EQ(test::error_of([&] { Vocabulary::restore(c.state); }),
              "[vocabulary] this is no vocabulary: byte " + std::to_string(c.byte) +
                  " is no token's length");
  }
  EXPECT_EQ(test::error_of([] { Vocabulary::restore("1:a1:a"); }),
            "[vocabulary] the token 'a' is there twice");
}

TEST(Vocabulary, TheStateTellsOrderAndTokensApart) {
  const std::string state = Vocabulary({"a", "b", "c"}).state();
  for (const Tokens& other :
       {Tokens{"a", "c", "b"}, Tokens{"a", "bc"}, Tokens{"ab", "c"}, Tokens{"a", "b"}}) {
    EXPECT_NE(Vocabulary(other).state(), state);
  }
}

}  // namespace
}  // namespace heed::data
