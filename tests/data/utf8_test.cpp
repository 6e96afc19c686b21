#include "data/utf8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace heed::data {
namespace {

using namespace std::string_view_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Utf8, ValidTextHasNoInvalidPosition) {
  // The first and last code point of each length, and those beside the surrogates.
  for (const std::string_view text :
       {""sv, "a"sv, "\0"sv, "\x7F"sv, "\xC2\x80"sv, "\xDF\xBF"sv, "\xE0\xA0\x80"sv,
        "\xED\x9F\xBF"sv, "\xEE\x80\x80"sv, "\xEF\xBF\xBF"sv, "\xF0\x90\x80\x80"sv,
        "\xF4\x8F\xBF\xBF"sv, "l'été à l’œil 龍 😀"sv}) {
    EXPECT_EQ(invalid_utf8_position(text), std::nullopt) << text;
  }
}

TEST(Utf8, TheFirstInvalidByteIsFound) {
  struct Case {
    const char* what;
    std::string_view text;
    size_t position;
  };
  for (const Case& c : {
           Case{"a lone continuation", "ab\x80", 2},
           Case{"Latin-1", "caf\xE9 noir", 3},
           Case{"cut short at the end", "a\xE2\x82", 1},
           Case{"cut short by a letter", "\xE2\x82z", 0},
           Case{"an overlong solidus", "\xC0\xAF", 0},
           Case{"an overlong form of three bytes", "\xE0\x9F\xBF", 0},
           Case{"an overlong form of four bytes", "\xF0\x8F\xBF\xBF", 0},
           Case{"a surrogate", "x\xED\xA0\x80", 1},
           Case{"past U+10FFFF", "\xF4\x90\x80\x80", 0},
           Case{"a byte that never occurs", "été\xFF", 5},
       }) {
    EXPECT_EQ(invalid_utf8_position(c.text), c.position) << c.what;
  }
}

TEST(Utf8, InvalidPartsAreReplacedAndCounted) {
  struct Case {
    std::string_view text;
    std::string_view replaced;
    int64_t count;
  };
  for (const Case& c : {
           Case{"été 龍", "été 龍", 0}, Case{"caf\xE9 noir", "caf\uFFFD noir", 1},
           Case{"\xE9t\xE9", "\uFFFDt\uFFFD", 2}, Case{"\x80z\x80", "\uFFFDz\uFFFD", 2},
           Case{"a\xF0\x9F\x98", "a\uFFFD", 1},          // cut short: one part
           Case{"\xE9\xE9", "\uFFFD\uFFFD", 2},          // two leads: two parts
           Case{"\xE2\x82\xC3\xA9", "\uFFFD\u00E9", 1},  // what follows is kept
       }) {
    int64_t count = 0;
    EXPECT_EQ(replace_invalid_utf8(c.text, count), c.replaced);
    EXPECT_EQ(count, c.count) << c.replaced;
    EXPECT_EQ(invalid_utf8_position(replace_invalid_utf8(c.text, count)), std::nullopt);
  }
  int64_t count = 40;
  replace_invalid_utf8("\xFF", count);
  EXPECT_EQ(count, 41) << "the count grows";
}

TEST(Utf8, ACharacterIsACodePoint) {
  EXPECT_THAT(code_points("aé龍😀"), ElementsAre("a", "é", "龍", "😀"));
  EXPECT_THAT(code_points("e\u0301"), ElementsAre("e", "\u0301"));
  EXPECT_THAT(code_points("a\0b"sv), ElementsAre("a", std::string(1, '\0'), "b"));
  EXPECT_THAT(code_points(""), IsEmpty());
}

TEST(Utf8, DecodedTextComesBackWhateverItHolds) {
  EXPECT_EQ(decode_utf8("aé龍😀"), U"aé龍😀");
  EXPECT_EQ(decode_utf8("\xE2z"), (std::u32string{static_cast<char32_t>(stray_byte + 0xE2), U'z'}));
  for (const std::string_view text : {""sv, "\0"sv, "l'été à l’œil 龍 😀"sv, "\xF4\x8F\xBF\xBF"sv,
                                      "caf\xE9 \xE2\x82"sv, "\xFF\x80"sv}) {
    std::string again;
    for (const char32_t point : decode_utf8(text)) {
      append_utf8(again, point);
    }
    EXPECT_EQ(again, text);
  }
}

TEST(Utf8, LowerCaseGoesCodePointByCodePoint) {
  EXPECT_EQ(lower_case("I'M HOME."), "i'm home.");
  EXPECT_EQ(lower_case("L'ÉTÉ À ŒUVRE Ÿ"), "l'été à œuvre ÿ");
  EXPECT_EQ(lower_case("ΑΒΓ ЖЯ 龍 ß"), "αβγ жя 龍 ß");
  EXPECT_EQ(lower_case("A\0B"sv), "a\0b"sv);
  EXPECT_EQ(lower_case("A\xFF Z"), "a\xFF z") << "an invalid byte passes through";
}

TEST(Utf8, WordCharactersAreLettersNumbersMarksAndTheUnderscore) {
  for (const char32_t point : U"aZéß龍жʰ0٣Ⅷ½_\u0301"sv) {
    EXPECT_TRUE(is_word_character(point)) << static_cast<uint32_t>(point);
  }
  for (const char32_t point : U" '’-.«、😀€+\u2028\t"sv) {
    EXPECT_FALSE(is_word_character(point)) << static_cast<uint32_t>(point);
  }
  EXPECT_FALSE(is_word_character(stray_byte + 0xE9));
}

TEST(Utf8, SpacesOfUnicode) {
  for (const char32_t point : U" \t\n\v\f\r\x1C\x1F\u0085\u00A0\u2009\u2028\u2029\u202F\u3000"sv) {
    EXPECT_TRUE(is_space(point)) << static_cast<uint32_t>(point);
  }
  for (const char32_t point : U"a._\x1B\x7F\u200B\u2060\uFEFF"sv) {
    EXPECT_FALSE(is_space(point)) << static_cast<uint32_t>(point);
  }
  EXPECT_FALSE(is_space(stray_byte + 0xA0));
}

}  // namespace
}  // namespace heed::data
