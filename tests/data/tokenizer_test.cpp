#include "data/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/corpus.h"
#include "tests/support/error_of.h"

namespace heed::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

using Pieces = std::vector<std::string>;

std::unique_ptr<Tokenizer> make(const std::string& kind, bool lowercase = false) {
  return make_tokenizer({.kind = kind, .lowercase = lowercase}, {});
}

TEST(WordTokenizer, SplitsWordsAndPunctuation) {
  const auto words = make("word", true);
  EXPECT_THAT(words->encode("I'm home."), ElementsAre("i", "'", "m", "home", "."));
  EXPECT_THAT(words->encode("Où est-elle ?"), ElementsAre("où", "est", "-", "elle", "?"));
  EXPECT_THAT(words->encode("J’ai 1,5 €..."),
              ElementsAre("j", "’", "ai", "1", ",", "5", "€", ".", ".", "."));
  EXPECT_THAT(words->encode("snake_case x2"), ElementsAre("snake_case", "x2"));
  EXPECT_THAT(words->encode("你好,世界!"), ElementsAre("你好", ",", "世界", "!"));
  EXPECT_THAT(words->encode("हिन्दी"), ElementsAre("हिन्दी")) << "marks belong to the word";
}

TEST(WordTokenizer, EverySpaceParts) {
  const auto words = make("word");
  EXPECT_THAT(words->encode("\tA\u00A0b\u202F!\u3000c \u2028d  "),
              ElementsAre("A", "b", "!", "c", "d"));
  EXPECT_THAT(words->encode(""), IsEmpty());
  EXPECT_THAT(words->encode(" \u00A0 "), IsEmpty());
}

TEST(WordTokenizer, LowersOnlyWhenAsked) {
  EXPECT_THAT(make("word", false)->encode("Été À"), ElementsAre("Été", "À"));
  EXPECT_THAT(make("word", true)->encode("Été À"), ElementsAre("été", "à"));
}

TEST(WordTokenizer, DecodePutsPunctuationWhereItBelongs) {
  const auto words = make("word");
  EXPECT_EQ(words->decode({"i", "'", "m", "home", "."}), "i'm home.");
  EXPECT_EQ(words->decode({"l", "’", "eau", ",", "non", "?"}), "l’eau, non?");
  EXPECT_EQ(words->decode({"well", "-", "known", "(", "or", "so", ")", "!"}),
            "well-known (or so)!");
  EXPECT_EQ(words->decode({"«", "oui", "»", ":", "¿", "qué", "?"}), "«oui»: ¿qué?");
  EXPECT_EQ(words->decode({"(", "a"}), "(a");
  EXPECT_EQ(words->decode({}), "");
}

TEST(WordTokenizer, PlainSentencesComeBackAsTheyWere) {
  const auto words = make("word");
  for (const char* text : {"I'm home.", "Don't go, Tom!", "C'est l'été.", "a well-known name"}) {
    EXPECT_EQ(words->decode(words->encode(text)), text);
  }
}

TEST(SpaceTokenizer, SplitsAtSpacesAlone) {
  const auto words = make("space");
  EXPECT_THAT(words->encode("  i 'm  home .\tnow "), ElementsAre("i", "'m", "home", ".", "now"));
  EXPECT_THAT(words->encode("a\u00A0b"), ElementsAre("a\u00A0b"));
  EXPECT_THAT(words->encode(" "), IsEmpty());
  EXPECT_EQ(words->decode({"i", "'m", "home", "."}), "i 'm home .");
  EXPECT_THAT(make("space", true)->encode("ÉTÉ A"), ElementsAre("été", "a"));
}

TEST(CharacterTokenizer, LosesNothing) {
  const auto characters = make("character");
  EXPECT_THAT(characters->encode("Ça 龍"), ElementsAre("Ç", "a", " ", "龍"));
  for (const char* text : {"", "  two  spaces ", "e\u0301 😀\tn", "C'est « bien » !"}) {
    EXPECT_EQ(characters->decode(characters->encode(text)), text);
  }
  EXPECT_THAT(make("character", true)->encode("ÇA"), ElementsAre("ç", "a"));
}

TEST(Tokenizer, AnUnknownKindIsNamed) {
  EXPECT_EQ(test::error_of<InputError>([] { make("words"); }),
            "[data] 'words' is no tokenizer; word, space, character and subword are");
}

TEST(Tokenizer, TravelsAsItsState) {
  const std::string text = "L'Été, I'm  HOME_1.";
  for (const char* kind : {"word", "space", "character"}) {
    for (const bool lowercase : {false, true}) {
      const auto first = make(kind, lowercase);
      const auto second = restore_tokenizer(first->state());
      EXPECT_EQ(second->encode(text), first->encode(text)) << kind;
      EXPECT_EQ(second->decode({"a", ",", "b"}), first->decode({"a", ",", "b"})) << kind;
      EXPECT_EQ(second->state(), first->state());
      EXPECT_EQ(second->piece_count(), 0);
    }
  }
}

TEST(Tokenizer, AForeignStateIsRefused) {
  for (const char* state : {"", "word", "word lower", "word\nlower ", "word upper\n", "\n \n"}) {
    EXPECT_EQ(test::error_of<InputError>([&] { restore_tokenizer(state); }),
              "[data] this is no tokenizer state")
        << state;
  }
  EXPECT_EQ(test::error_of<InputError>([] { restore_tokenizer("bytes lower\n"); }),
            "[data] 'bytes' is no tokenizer; word, space, character and subword are");
  EXPECT_EQ(test::error_of<InputError>([] { restore_tokenizer("subword lower\nnot a model"); }),
            "[data] this is no SentencePiece model of heed: a field has an unknown kind");
}

class SubwordTokenizer : public ::testing::Test {
 protected:
  static std::vector<std::string> texts() {
    std::vector<std::string> result;
    for (const SentencePair& pair : load_pair_corpus({"grammar:400"}, Split::train).first(400)) {
      result.push_back(pair.target);
    }
    return result;
  }
  static std::unique_ptr<Tokenizer> train(int64_t size) {
    return make_tokenizer({.kind = "subword", .lowercase = true, .subword_size = size}, texts(),
                          "a.fr");
  }
};

TEST_F(SubwordTokenizer, LearnsPiecesThatGiveTheTextBack) {
  CaptureStderr();
  const auto pieces = train(90);
  EXPECT_EQ(GetCapturedStderr(), "") << "training is quiet";
  EXPECT_EQ(pieces->piece_count(), 90);
  for (const std::string& text : texts()) {
    const Pieces encoded = pieces->encode(text);
    EXPECT_LT(encoded.size(), text.size()) << "pieces are longer than characters";
    EXPECT_EQ(pieces->decode(encoded), text);
  }
  EXPECT_THAT(pieces->encode(""), IsEmpty());
}

TEST_F(SubwordTokenizer, TheSameTextGivesTheSameModel) {
  EXPECT_EQ(train(90)->state(), train(90)->state());
}

TEST_F(SubwordTokenizer, ItsStateHoldsTheModel) {
  const auto first = train(90);
  const auto second = restore_tokenizer(first->state());
  EXPECT_EQ(second->state(), first->state());
  EXPECT_EQ(second->piece_count(), 90);
  EXPECT_EQ(second->encode("Le CHAT dort ."), first->encode("le chat dort ."));
}

TEST_F(SubwordTokenizer, ASmallTextGivesFewerPiecesAndSaysSo) {
  CaptureStderr();
  const auto pieces = train(8000);
  const std::string log = GetCapturedStderr();
  EXPECT_LT(pieces->piece_count(), 8000);
  EXPECT_EQ(log, "[data] a.fr gives " + std::to_string(pieces->piece_count()) +
                     " subword pieces, 8000 were asked for\n");
}

TEST_F(SubwordTokenizer, WhatCannotBeTrainedIsRefused) {
  EXPECT_EQ(
      test::error_of<InputError>([] { train(3); }),
      "[data] data.subword_size = 3 is fewer than the characters of a.fr: at least 29 is needed");
  EXPECT_EQ(train(29)->piece_count(), 29);
  EXPECT_THAT(
      test::error_of<InputError>([] { make_tokenizer({.kind = "subword"}, {}); }),
      StartsWith(
          "[data] no subword model of 8000 pieces could be trained on 0 sentences of the text: "));
}

}  // namespace
}  // namespace heed::data
