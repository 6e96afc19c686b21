#include "data/text_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/file.h"
#include "tests/support/all_ids.h"
#include "tests/support/temporary_folder.h"

namespace heed::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string all_of(const RunningText& text) {
  std::string all;
  text.for_each_line([&](const RunningText::Line& line) {
    all += line.text;
    all += line.has_newline ? "\n" : "";
  });
  return all;
}

RunningText at_hand(std::string_view text) { return {"a text", std::string(text)}; }

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, const RunningText& text) {
  std::vector<std::string> pieces;
  text.for_each_line([&](const RunningText::Line& line) {
    for_each_piece(tokenizer, line, [&](const std::string& piece) { pieces.push_back(piece); });
  });
  return pieces;
}

// The text put together again piece by piece.
std::string streamed(const Tokenizer& tokenizer, std::string_view text) {
  TextStream stream(tokenizer);
  std::string result;
  for (const std::string& piece : pieces_of(tokenizer, at_hand(text))) {
    result += stream.add(piece);
  }
  return result;
}

TEST(OwnSources, HoldTheFilesOfTheProject) {
  const std::string text(own_sources_text());
  EXPECT_EQ(text, all_of(RunningText::load("sources")));
  EXPECT_TRUE(text.starts_with("==== README.md ====\n\n# heed\n")) << text.substr(0, 100);
  EXPECT_THAT(text, HasSubstr("\n==== data/text_corpus.h ====\n\n#pragma once\n"));
  EXPECT_THAT(text, HasSubstr("\n==== docs/architecture.md ====\n\n# Architecture\n"));
  EXPECT_LT(text.find("==== core/tensor.h"), text.find("==== train/main.cpp")) << "in order";
  EXPECT_TRUE(text.ends_with("\n"));
  EXPECT_GT(text.size(), 500'000U);
}

TEST(RunningText, IsAFileWithItsLines) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.txt";
  write_file("test", path, "\xEF\xBB\xBFone\r\n\n\ttwo é");
  EXPECT_EQ(all_of(RunningText::load(path)), "one\n\n\ttwo é\n");
  write_file("test", path, "one \xFF\n");
  EXPECT_EQ(all_of(RunningText::load(path, InvalidUtf8::replace)), "one \uFFFD\n");
  EXPECT_THROW(RunningText::load(path), InputError);
  EXPECT_THROW(RunningText::load(folder / "none.txt"), InputError);
}

TEST(RunningText, TheTailIsCutBetweenCharacters) {
  const auto halves = [](std::string_view text, double share) {
    const auto [head, rest] = at_hand(text).split_tail(share);
    return std::vector<std::string>{all_of(head), all_of(rest)};
  };
  EXPECT_THAT(halves("0123456789", 0.1), ElementsAre("012345678", "9"));
  EXPECT_THAT(halves("0123456789", 0.25), ElementsAre("0123456", "789"));
  EXPECT_THAT(halves("éé", 0.7), ElementsAre("é", "é")) << "byte 1 is within a character";
  EXPECT_THAT(halves("", 0.5), ElementsAre("", ""));
}

// Wherever it is cut, and read from a file or not: head and tail are what a string would be cut to.
TEST(RunningText, IsCutAsAStringWouldBe) {
  const test::TemporaryFolder folder;
  const std::string text = "é\n\nab字字\n\né\nlast\n";
  write_file("test", folder / "a.txt", text);
  const RunningText file = RunningText::load(folder / "a.txt");
  EXPECT_EQ(file.bytes(), static_cast<int64_t>(text.size()));
  for (size_t at = 0; at <= text.size(); ++at) {
    const double share = 1 - (static_cast<double>(at) + 0.25) / static_cast<double>(text.size());
    size_t cut = at;
    while (cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) {
      ++cut;
    }
    for (const RunningText& whole : {file, at_hand(text)}) {
      const auto [head, tail] = whole.split_tail(share);
      EXPECT_EQ(all_of(head), text.substr(0, cut)) << at;
      EXPECT_EQ(all_of(tail), text.substr(cut)) << at;
    }
  }
}

TEST(RunningText, MuchOfItIsLearnedFromByASample) {
  std::string text;
  for (int line = 0; line < 4000; ++line) {
    text += line % 2 == 0 ? "the cat sat on the mat\n" : "\n";
  }
  TokenizerOptions options{.kind = "subword", .subword_size = 20};
  const auto all = make_text_tokenizer(options, at_hand(text));
  options.subword_sample = 4000;
  testing::internal::CaptureStderr();
  const auto some = make_text_tokenizer(options, at_hand(text));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("\\[data\\] a text: subwords are learned from 1[0-9][0-9] "
                                    "lines drawn from it, 0.0 of 0.0 MB\n(.|\n)*"));
  EXPECT_EQ(streamed(*some, "the cat sat\n"), "the cat sat\n");
  const auto again = make_text_tokenizer(options, at_hand(text));
  EXPECT_EQ(some->state(), again->state()) << "the same sample each time";
  EXPECT_NE(some->state(), all->state());
  options.kind = "word";
  testing::internal::CaptureStderr();
  make_text_tokenizer(options, at_hand(text));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "words are not learned";
}

TEST(RunningText, EveryTokenizerKeepsTheLines) {
  const std::string text = "the cat,\n\n  sat on é\n";
  const auto make = [&](const std::string& kind) {
    return make_text_tokenizer({.kind = kind, .subword_size = 30}, at_hand(text));
  };
  EXPECT_THAT(pieces_of(*make("word"), at_hand(text)),
              ElementsAre("the", "cat", ",", "\n", "\n", "sat", "on", "é", "\n"));
  EXPECT_EQ(pieces_of(*make("character"), at_hand(text)).size(), 21U);
  EXPECT_EQ(streamed(*make("word"), text), "the cat,\n\nsat on é\n");
  EXPECT_EQ(streamed(*make("space"), text), "the cat,\n\nsat on é\n");
  // These two keep every space as well.
  EXPECT_EQ(streamed(*make("character"), text), text);
  EXPECT_EQ(streamed(*make("subword"), text), text);
}

TEST(RunningText, SubwordsDoNotNormalise) {
  const std::string text = "ﬁne  ½ tab\there   \n    four, 1 2  3\n";  // a ligature, a fraction
  const auto tokenizer =
      make_text_tokenizer({.kind = "subword", .subword_size = 40}, at_hand(text));
  EXPECT_EQ(streamed(*tokenizer, text), text);
}

TEST(RunningText, BecomesIds) {
  const auto tokenizer = make_text_tokenizer({.kind = "character"}, at_hand(""));
  const Vocabulary vocabulary = build_text_vocabulary(*tokenizer, at_hand("abba\nab\n"), 1, 0);
  EXPECT_EQ(vocabulary.token(4), "a") << "the most frequent, the smallest of equal ones";
  EXPECT_EQ(vocabulary.token(5), "b");
  EXPECT_EQ(vocabulary.token(6), "\n");
  EXPECT_THAT(test::all_ids(encode_text(*tokenizer, vocabulary, at_hand("b\nxa"))),
              ElementsAre(5, 6, 1, 4));
  EXPECT_EQ(build_text_vocabulary(*tokenizer, at_hand("abba\nab\n"), 3, 0).size(), 6);
  EXPECT_EQ(build_text_vocabulary(*tokenizer, at_hand("abba\nab\n"), 1, 5).size(), 5);
}

}  // namespace
}  // namespace heed::data
