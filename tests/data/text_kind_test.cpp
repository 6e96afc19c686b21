#include "data/text_kind.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/logging.h"
#include "data/corpus.h"
#include "data/text_corpus.h"
#include "data/text_file.h"
#include "tests/data/scratch.h"

// Files that are no text, as whoever reads them says: pairs in one file or in two, running text,
// and standard input.
namespace heed::data {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string every_byte(size_t times) {
  std::string bytes;
  for (size_t i = 0; i < 256 * times; ++i) {
    bytes += static_cast<char>(i);
  }
  return bytes;
}

std::string through_a_pipe(std::string_view bytes, InvalidUtf8 policy) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  FileDescriptor writing(ends[1]);
  EXPECT_TRUE(writing.write_all(bytes));
  writing.close();
  TextReader lines(InputStream("data", "train.tsv", FileDescriptor(ends[0])), policy);
  return test::error_of<InputError>([&] {
    while (lines.next()) {
    }
  });
}

class TextKind : public ScratchFolder {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  void TearDown() override { log::set_level(log::Level::info); }

  // What each reader of the bytes says, under the name train.tsv.
  std::vector<std::string> refusals(std::string_view bytes,
                                    InvalidUtf8 policy = InvalidUtf8::error) const {
    const std::string file = write("train.tsv", bytes);
    const std::string fine = write("fine.txt", "a\nb\n");
    CorpusOptions options;
    options.invalid_utf8 = policy;
    return {refusal([&] { load_pair_corpus({file}, Split::train, options); }), refusal([&] {
              load_pair_corpus({fine, file}, Split::train, options);
            }),
            refusal([&] { RunningText::load(file, policy); }), through_a_pipe(bytes, policy)};
  }
  void expect_refused(std::string_view bytes, const std::string& says,
                      InvalidUtf8 policy = InvalidUtf8::error) const {
    for (const std::string& text : refusals(bytes, policy)) {
      EXPECT_EQ(text, "[data] train.tsv" + says);
    }
  }
};

TEST_F(TextKind, BinaryFilesAreSaidPlainlyWhoeverReadsThem) {
  const std::string expected = ", UTF-8 text is expected; ";
  for (const auto& [bytes, says] : std::vector<std::pair<std::string, std::string>>{
           {"SQLite format 3\0\x10\0\x01\x01\0\x40  \xE9t\n"s,
            " is an SQLite database" + expected + "give its text: sqlite3 -tabs FILE 'SELECT ...'"},
           {"\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01"s,
            " is a JPEG picture" + expected + "give a text file"},
           {"GIF89a\x10\0\x10\0\xF0"s, " is a GIF picture" + expected + "give a text file"},
           {"\x80\x04\x95\x0A\0\0\0\0\0\0\0\x8C\x06hello"s,
            " is a Python pickle" + expected + "give a text file"},
           {"\x80\x02X\x05\0\0\0hello\nq"s, " is a Python pickle" + expected + "give a text file"},
           // A picture in a frame of its own, and what no signature is known of.
           {"frame \x89 PNG \x1A\nIHDR"s, " is a binary file" + expected + "give a text file"},
           {every_byte(1), " is a binary file" + expected + "give a text file"},
           {every_byte(20), " is a binary file" + expected + "give a text file"},
           {"fine\tbien\n" + every_byte(20).substr(32),
            " is a binary file" + expected + "give a text file"},
       }) {
    expect_refused(bytes, says);
  }
  // Nor can they be read with what is invalid replaced.
  expect_refused(every_byte(20), " is a binary file" + expected + "give a text file",
                 InvalidUtf8::replace);
}

TEST_F(TextKind, PagesAreKnownPastDeclarationsAndComments) {
  for (const std::string_view page :
       {"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE html PUBLIC \"-//W3C//DTD\">\n"sv,
        "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\">\n"sv,
        "<!-- saved from\n url=(0026)http://example.org -->\n\n<HTML>\n"sv,
        "<!-- a --> <!-- b -->\n<!doctype html>\n"sv}) {
    expect_refused(page,
                   " is an HTML page, UTF-8 text is expected; download the file itself, not the "
                   "page that shows it");
  }
}

TEST_F(TextKind, ATextWithAStrayControlOrOfOtherMarkupIsOne) {
  const std::string text = "<?xml version=\"1.0\"?>\ta\n<tmx>\tb\n<!-- <html> -->\tc\n";
  const std::string controls = "bell\a\tnul\0\n\x1B[1mbold\x1B[0m\tform\f\n"s + every_byte(1)[26];
  for (const std::string& bytes : {text, controls + "\tz\n", "<!--\tnever closed\n<html>\t\n"s}) {
    const std::string file = write("plain.tsv", bytes);
    EXPECT_EQ(refusal([&] { load_pair_corpus({file}, Split::train); }), "no error") << bytes;
    EXPECT_EQ(refusal([&] { RunningText::load(file, InvalidUtf8::error); }), "no error") << bytes;
    EXPECT_EQ(through_a_pipe(bytes, InvalidUtf8::error), "no error") << bytes;
  }
  // Invalid here and there, with a control: a text for those who ask for it.
  EXPECT_EQ(through_a_pipe("caf\xE9 \x01\n", InvalidUtf8::replace), "no error");
}

// A character that the end of the sample cuts is no invalid one.
TEST_F(TextKind, TheSampleMayEndWithinACharacter) {
  for (size_t letters = kind_sample - 8; letters < kind_sample; ++letters) {
    const std::string bytes = std::string(letters, 'x') + "\x01" + "\u6587\u6587\u6587\u6587\n";
    EXPECT_EQ(test::error_of<InputError>([&] { parse_text(bytes, "long.txt"); }), "no error");
  }
}

TEST_F(TextKind, ConversionIsAdvisedForWhatMayBeAnOlderCharacterSetAlone) {
  const std::string replace = ", or train with data.invalid_utf8 = \"replace\"";
  expect_refused(
      "fine\tbien\ncaf\xE9\tcoffee\n",
      ":2: byte 4 of the line, 0xE9, is no UTF-8; convert it (iconv -f LATIN1 -t UTF-8)" + replace);
  expect_refused(
      "\x93quoted\x94\tcit\xE9\n",
      ":1: byte 1 of the line, 0x93, is no UTF-8; convert it (iconv -f CP1252 -t UTF-8)" + replace);
  expect_refused("th\u00E9\tcaf\xE9\n",
                 ":1: byte 9 of the line, 0xE9, is no UTF-8; mend the line" + replace);
  std::string late(kind_sample, 'x');
  late += "\ty\na\x01\xE9\tb\n";
  expect_refused(late, ":2: byte 3 of the line, 0xE9, is no UTF-8; mend the line" + replace);
}

}  // namespace
}  // namespace heed::data
