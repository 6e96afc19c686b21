// SentencePiece models that mean harm.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "data/tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/protocol_buffer.h"

namespace heed::data {
namespace {

using namespace std::string_literals;
using test::bytes_field;
using test::float_field;
using test::little_endian;
using test::number_field;

constexpr uint32_t minus_one = 0xBF800000;  // as a float

std::string piece(const std::string& text, uint64_t type = 1, uint32_t score = minus_one) {
  return bytes_field(1, bytes_field(1, text) + float_field(2, score) + number_field(3, type));
}

const std::string unknown = piece("<unk>", 2);
const std::string unigram = bytes_field(2, number_field(3, 1));

std::string with_charsmap(const std::string& map) {
  return unknown + piece("a") + unigram + bytes_field(3, bytes_field(2, map));
}

// A trie of units, and the texts it points to.
std::string charsmap(const std::vector<uint32_t>& units, const std::string& texts) {
  std::string map = little_endian(static_cast<uint32_t>(4 * units.size()));
  for (const uint32_t unit : units) {
    map += little_endian(unit);
  }
  return map + texts;
}

std::string refusal(const std::string& model) {
  const std::string text = test::error_of<InputError>([&] {
    const auto tokenizer = restore_tokenizer("subword as-is\n" + model);
    tokenizer->encode("a b");
  });
  const std::string start = "[data] this is no SentencePiece model of heed: ";
  return text.starts_with(start) ? text.substr(start.size()) : text;
}

TEST(SubwordModel, AnHonestOneIsTaken) {
  EXPECT_EQ(refusal(unknown + piece("a") + unigram), "no error");
  EXPECT_EQ(refusal(unknown + piece("\xE2\x96\x81") + unigram + bytes_field(4, "")), "no error");
  for (const bool exact : {true, false}) {  // false: with a table of normalisation
    const auto tokenizer = make_tokenizer({"subword", false, 20, exact}, {"a red house", "a tree"});
    EXPECT_EQ(restore_tokenizer(tokenizer->state())->encode("a \xEF\xBC\xA1 tree"),
              tokenizer->encode("a \xEF\xBC\xA1 tree"));
  }
}

TEST(SubwordModel, WhatIsNoMessageIsRefused) {
  EXPECT_EQ(refusal(""), "it has no pieces");
  EXPECT_EQ(refusal("\x0A"), "it is cut short");
  EXPECT_EQ(refusal("\x0A\x05"
                    "abc"),
            "it is cut short");
  EXPECT_EQ(refusal("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"
                    "abc"),
            "it is cut short");
  EXPECT_EQ(refusal(std::string(11, '\xFF')), "a number does not end");
  EXPECT_EQ(refusal("\x02\0"s), "a field has no number");
  EXPECT_EQ(refusal("\x0B"), "a field has an unknown kind");
  EXPECT_EQ(refusal(number_field(1, 3)), "a text or message is missing");
  EXPECT_EQ(refusal(bytes_field(2, bytes_field(3, "unigram"))), "a number is missing");
  EXPECT_EQ(refusal(bytes_field(1, number_field(2, 1))), "a score is missing");
}

TEST(SubwordModel, PiecesThatEndTheLibraryAreRefused) {
  EXPECT_EQ(refusal(unknown + piece("\0a"s) + unigram), "a piece is no text");
  EXPECT_EQ(refusal(unknown + piece("") + unigram), "a piece is no text");
  EXPECT_EQ(refusal(unknown + piece("\xFF") + unigram), "a piece is no text");
  const std::string types = "the first piece is the unknown one, the others are normal";
  EXPECT_EQ(refusal(piece("a") + unigram), types);
  EXPECT_EQ(refusal(unknown + piece("<unk2>", 2) + unigram), types);
  for (const uint64_t type : {0, 3, 4, 5, 6, 7}) {
    EXPECT_EQ(refusal(unknown + piece("<0x41>", type) + unigram), types) << type;
  }
  for (const uint32_t score : {0x7FC00000U, 0x7F800000U, 0xFF800000U}) {
    EXPECT_EQ(refusal(unknown + piece("a", 1, score) + unigram), "a score is not finite");
  }
  EXPECT_EQ(refusal(unknown + piece("a") + bytes_field(2, number_field(3, 2))),
            "its type is not unigram");
}

TEST(SubwordModel, TablesThatLeaveThemselvesAreRefused) {
  std::vector<uint32_t> trie(256, 0);
  EXPECT_EQ(refusal(with_charsmap(charsmap(trie, "\0"s))), "no error");
  const std::string leaves = "its normalisation table leaves itself";
  EXPECT_EQ(refusal(with_charsmap("abc")), leaves);
  EXPECT_EQ(refusal(with_charsmap(charsmap({}, "\0"s))), leaves);
  EXPECT_EQ(refusal(with_charsmap("\xFF\xFF\xFF\x7F" + std::string(100, '\0'))), leaves);
  EXPECT_EQ(refusal(with_charsmap("\x03\0\0\0\0\0\0\0"s)), leaves);
  EXPECT_EQ(refusal(with_charsmap(charsmap(trie, ""))), leaves);
  EXPECT_EQ(refusal(with_charsmap(charsmap(trie, "open"))), leaves);
  EXPECT_EQ(refusal(with_charsmap(charsmap(std::vector<uint32_t>(255, 0), "\0"s))), leaves);
  trie[0] = 0x7FFFFC00;  // an offset of 2^21 - 1, or that times 256
  EXPECT_EQ(refusal(with_charsmap(charsmap(trie, "\0"s))), leaves);
  trie[0] |= 0x200;
  EXPECT_EQ(refusal(with_charsmap(charsmap(trie, "\0"s))), leaves);
  trie[0] = 1U << 31;  // a leaf without a branch
  EXPECT_EQ(refusal(with_charsmap(charsmap(trie, "\0"s))), leaves);
  trie[0] = 1U << 10 | 1U << 8;  // a branch to unit 1, where a leaf stands
  trie[1] = 1U << 31 | 1;
  EXPECT_EQ(refusal(with_charsmap(charsmap(trie, "\0"s))), leaves);
  EXPECT_EQ(refusal(with_charsmap(charsmap(trie, "a\0"s))), "no error");
}

}  // namespace
}  // namespace heed::data
