#include "data/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/data/scratch.h"
#include "tests/support/pipe.h"

namespace heed::data {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TextFile read_text_file(const std::string& path, InvalidUtf8 policy = InvalidUtf8::error) {
  TextReader reader(std::make_shared<InputFile>("data", path), policy);
  TextFile file;
  while (const auto line = reader.next()) {
    file.lines.emplace_back(*line);
  }
  file.repairs = reader.repairs();
  reader.log_repairs();
  return file;
}

class TextFiles : public ScratchFolder {
 protected:
  std::string reading(const std::string& file) const {
    return refusal([&] { read_text_file(file); });
  }
  std::string reading(const std::string& name, std::string_view content) const {
    return reading(write(name, content));
  }
};

TEST_F(TextFiles, LinesWithAndWithoutALastNewline) {
  EXPECT_THAT(read_text_file(write("a", "one\ntwo\n")).lines, ElementsAre("one", "two"));
  EXPECT_THAT(read_text_file(write("a", "one\ntwo")).lines, ElementsAre("one", "two"));
  EXPECT_THAT(read_text_file(write("a", "\n\nthree\n\n")).lines, ElementsAre("", "", "three", ""));
  EXPECT_THAT(read_text_file(write("a", "\n")).lines, ElementsAre(""));
}

TEST_F(TextFiles, OnlyALineFeedEndsALine) {
  const std::string line = "a\0b\vc\fd\u0085e\u2028f\u2029g\rh\x1Ci"s;
  const TextFile file = read_text_file(write("odd.txt", line + "\nnext\n"));
  EXPECT_THAT(file.lines, ElementsAre(line, "next"));
  EXPECT_EQ(file.repairs.carriage_returns, 0);
}

TEST_F(TextFiles, ACarriageReturnBeforeTheLineFeedIsRemovedCountedAndSaid) {
  CaptureStderr();
  const TextFile file = read_text_file(write("dos.txt", "one\r\ntwo\nthree\r\r\nfour\r"));
  const std::string log = GetCapturedStderr();
  EXPECT_THAT(file.lines, ElementsAre("one", "two", "three\r", "four"));
  EXPECT_EQ(file.repairs.carriage_returns, 3);
  EXPECT_EQ(without_folder(log), "[data] dos.txt: a CR was removed from the end of 3 of 4 lines\n");
}

TEST_F(TextFiles, AByteOrderMarkIsRemovedAtTheStartAlone) {
  const TextFile file = read_text_file(write("bom.txt", "\uFEFFone\n\uFEFFtwo\n"));
  EXPECT_THAT(file.lines, ElementsAre("one", "\uFEFFtwo"));
}

TEST_F(TextFiles, InvalidUtf8IsNamedByLineAndByte) {
  EXPECT_EQ(reading("corpus.tsv", "fine\tbien\ncaf\xE9\tcoffee\n"),
            "[data] corpus.tsv:2: byte 4 of the line, 0xE9, is no UTF-8; convert it "
            "(iconv -f LATIN1 -t UTF-8), or train with data.invalid_utf8 = \"replace\"");
  EXPECT_EQ(reading("cut.txt", "a\xE2\x82"),
            "[data] cut.txt:1: byte 2 of the line, 0xE2, is no UTF-8; convert it "
            "(iconv -f CP1252 -t UTF-8), or train with data.invalid_utf8 = \"replace\"");
}

TEST_F(TextFiles, InvalidUtf8IsReplacedCountedAndSaidWhenAskedFor) {
  const std::string file = write("latin.txt", "caf\xE9 cr\xE8me\nthe\nd\xE9j\xE0\n");
  CaptureStderr();
  const TextFile text = read_text_file(file, InvalidUtf8::replace);
  const std::string log = GetCapturedStderr();
  EXPECT_THAT(text.lines, ElementsAre("caf\uFFFD cr\uFFFDme", "the", "d\uFFFDj\uFFFD"));
  EXPECT_EQ(text.repairs.replaced, 4);
  EXPECT_EQ(without_folder(log),
            "[data] warning: latin.txt: 4 invalid parts were replaced by U+FFFD\n");
}

TEST_F(TextFiles, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(reading(path("absent.tsv")), "[data] absent.tsv: no such file");
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(reading(path("folder")), "[data] folder: is a folder, a file is expected");
  EXPECT_EQ(reading("empty.txt", ""), "[data] empty.txt is empty");
  EXPECT_EQ(reading("mark.txt", "\uFEFF"), "[data] mark.txt is empty but for a byte order mark");
}

TEST_F(TextFiles, AFileWithoutPermissionIsNamed) {
  const std::string file = write("locked.txt", "secret\n");
  std::filesystem::permissions(file, std::filesystem::perms::none);
  if (::access(file.c_str(), R_OK) == 0) {
    GTEST_SKIP() << "this user may read everything";
  }
  EXPECT_EQ(reading(file), "[data] locked.txt: cannot be read: Permission denied");
}

TEST_F(TextFiles, OtherFormatsAreSaidPlainlyWithTheRemedy) {
  struct Case {
    std::string_view bytes;
    const char* says;
  };
  for (const Case& c : {
           Case{"\xFF\xFEh\0i\0\n\0"sv,
                "UTF-16 text, UTF-8 text is expected; "
                "convert it: iconv -f UTF-16 -t UTF-8"},
           Case{"\xFE\xFF\0h\0i\0\n"sv,
                "UTF-16 text, UTF-8 text is expected; "
                "convert it: iconv -f UTF-16 -t UTF-8"},
           Case{"h\0i\0\n\0"sv,
                "UTF-16 text, UTF-8 text is expected; "
                "convert it: iconv -f UTF-16 -t UTF-8"},
           Case{"\0h\0i\0\n"sv,
                "UTF-16 text, UTF-8 text is expected; "
                "convert it: iconv -f UTF-16 -t UTF-8"},
           Case{"\xFF\xFE\0\0h\0\0\0"sv,
                "UTF-32 text, UTF-8 text is expected; "
                "convert it: iconv -f UTF-32 -t UTF-8"},
           Case{"\0\0\xFE\xFF\0\0\0h"sv,
                "UTF-32 text, UTF-8 text is expected; "
                "convert it: iconv -f UTF-32 -t UTF-8"},
           Case{"\x1F\x8B\x08\0\0"sv,
                "a gzip archive, UTF-8 text is expected; "
                "unpack it first: gunzip"},
           Case{"BZh91AY"sv, "a bzip2 archive, UTF-8 text is expected; unpack it first: bunzip2"},
           Case{"\xFD\x37zXZ\0\0"sv,
                "an xz archive, UTF-8 text is expected; "
                "unpack it first: unxz"},
           Case{"\x28\xB5\x2F\xFD$"sv,
                "a zstd archive, UTF-8 text is expected; "
                "unpack it first: unzstd"},
           Case{"PK\x03\x04\x14"sv,
                "a zip archive, UTF-8 text is expected; "
                "unpack it first: unzip"},
           Case{"%PDF-1.7\n"sv,
                "a PDF document, UTF-8 text is expected; "
                "give its text: pdftotext"},
           Case{"\x89PNG\r\n\x1A\n"sv,
                "a PNG picture, UTF-8 text is expected; "
                "give a text file"},
           Case{"\x7F\x45LF\x02"sv, "a program, UTF-8 text is expected; give a text file"},
           Case{"\n <!DOCTYPE html>\n<title>404</title>"sv,
                "an HTML page, UTF-8 text is expected; "
                "download the file itself, not the page that shows it"},
           Case{"<HTML lang=\"fr\">"sv,
                "an HTML page, UTF-8 text is expected; "
                "download the file itself, not the page that shows it"},
           Case{"\x01\0\0\x02\0\0\0\x05\0"sv,
                "a binary file, UTF-8 text is expected; "
                "give a text file"},
           Case{"one\tun\rtwo\tdeux\r"sv,
                "text whose lines end with CR alone, UTF-8 text is "
                "expected; convert it: tr '\\r' '\\n'"},
       }) {
    EXPECT_EQ(reading("train.tsv", c.bytes), "[data] train.tsv is "s + c.says);
  }
}

TEST_F(TextFiles, AnOrdinaryTextIsNotMistakenForAnotherFormat) {
  for (const std::string_view text : {"<s>\tPK\n"sv, "a < b\n"sv, "a\0\n"sv, "\0a b c d\n"sv,
                                      "a\rb\n"sv, "a\r"sv, "html\n"sv, "<p>html</p>\n"sv}) {
    CaptureStderr();
    EXPECT_EQ(reading("plain.txt", text), "no error") << text;
    GetCapturedStderr();
  }
}

TEST_F(TextFiles, ALineThatNeverEndsIsNamedWithItsSize) {
  const std::string longest(size_t{16} << 20, 'x');
  EXPECT_EQ(parse_text(longest + "\n" + longest, "long.txt").lines.size(), 2U);
  EXPECT_EQ(refusal([&] { parse_text("short\n" + longest + "x\n", "long.txt"); }),
            "[data] long.txt:2: the line has 16777217 bytes, 16777216 are the most; are its "
            "newlines missing?");
}

TEST_F(TextFiles, BytesAtHandAreReadTheSameWayAndMayBeNone) {
  EXPECT_THAT(parse_text("one\r\ntwo", "standard input").lines, ElementsAre("one", "two"));
  EXPECT_THAT(parse_text("", "standard input").lines, IsEmpty());
  EXPECT_EQ(refusal([] { parse_text("ok\n\xFF\n", "standard input"); }),
            "[data] standard input:2: byte 1 of the line, 0xFF, is no UTF-8; convert it "
            "(iconv -f LATIN1 -t UTF-8), or train with data.invalid_utf8 = \"replace\"");
}

// A file is read a megabyte at a time: lines end, and characters lie, on either side of each seam.
TEST_F(TextFiles, NoSeamBetweenPartsShows) {
  std::vector<std::string> expected;
  std::string bytes;
  for (size_t line = 0; bytes.size() < (size_t{3} << 20); ++line) {
    expected.emplace_back();
    for (size_t i = 0; i < line * line % 5000; ++i) {
      expected.back() += i % 3 == 0 ? "é" : i % 7 == 0 ? "字" : "x";
    }
    bytes += expected.back() + (line % 4 == 0 ? "\r\n" : "\n");
  }
  expected.push_back(std::string(size_t{5} << 20, 'y'));
  bytes += expected.back() + "\nend";
  expected.emplace_back("end");
  CaptureStderr();
  const TextFile file = read_text_file(write("long.txt", bytes));
  GetCapturedStderr();
  EXPECT_TRUE(file.lines == expected);
  EXPECT_EQ(file.lines.size(), parse_text(bytes, "long.txt").lines.size());
}

TEST_F(TextFiles, ALineOfManyPartsIsMeasuredToItsEnd) {
  const std::string longest(size_t{20} << 20, 'x');
  EXPECT_EQ(reading("long.txt", "short\n" + longest + "\nshort\n"),
            "[data] long.txt:2: the line has 20971520 bytes, 16777216 are the most; are its "
            "newlines missing?");
  EXPECT_EQ(reading("old.txt", longest + "\r" + longest + "\r"),
            "[data] old.txt is text whose lines end with CR alone, UTF-8 text is expected; convert "
            "it: tr '\\r' '\\n'");
}

TEST_F(TextFiles, AFileThatChangesWhileItIsReadIsRefused) {
  const std::string file = write("moving.txt", std::string(size_t{2} << 20, '\n'));
  TextReader reader(std::make_shared<InputFile>("data", file));
  reader.next();
  std::filesystem::resize_file(file, 100);
  EXPECT_EQ(refusal([&] {
              while (reader.next()) {
              }
            }),
            "[data] moving.txt was written to while it was read; start again when it stands still");
}

TEST_F(TextFiles, AnEmptyFileHasNoLinesWhereThatIsAllowed) {
  for (const char* content : {"", "\uFEFF"}) {
    TextReader reader(std::make_shared<InputFile>("data", write("empty.txt", content)),
                      InvalidUtf8::error, EmptyText::allowed);
    EXPECT_EQ(reader.next(), std::nullopt);
  }
}

class Streams : public ::testing::Test {
 protected:
  Streams() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reading_ = FileDescriptor(ends[0]);
    writing_ = FileDescriptor(ends[1]);
  }
  TextReader reader(InvalidUtf8 policy = InvalidUtf8::error) {
    return TextReader(InputStream("data", "the pipe", std::move(reading_)), policy);
  }
  std::string refusal_of(std::string_view text) {
    write(text);
    writing_.close();
    TextReader lines = reader();
    return test::error_of<InputError>([&] {
      while (lines.next()) {
      }
    });
  }
  void write(std::string_view text) { EXPECT_TRUE(writing_.write_all(text)); }

  FileDescriptor reading_, writing_;
};

TEST_F(Streams, LinesComeAsSoonAsTheyAreThere) {
  TextReader lines = reader(InvalidUtf8::replace);
  EXPECT_FALSE(lines.is_ready());
  write("\xEF\xBB");
  EXPECT_FALSE(lines.is_ready());
  write("\xBFone\r\n");
  EXPECT_TRUE(lines.is_ready());
  write("two\xFF\nthr");
  EXPECT_EQ(lines.next(), "one");
  EXPECT_TRUE(lines.is_ready());
  EXPECT_EQ(lines.next(), "two\uFFFD");
  EXPECT_FALSE(lines.is_ready());
  writing_.close();
  EXPECT_TRUE(lines.is_ready());
  EXPECT_EQ(lines.next(), "thr");
  EXPECT_TRUE(lines.is_ready());
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_EQ(lines.repairs().carriage_returns, 1);
  EXPECT_EQ(lines.repairs().replaced, 1);
}

TEST_F(Streams, TheFirstLineTellsWhatTheyAre) {
  EXPECT_EQ(refusal_of("\x1F\x8B\n"),
            "[data] the pipe is a gzip archive, UTF-8 text is expected; unpack it first: gunzip");
}

TEST_F(Streams, WhatComesLaterIsALine) {
  write("a\n<html>\n\x1F");
  writing_.close();
  TextReader lines = reader();
  EXPECT_EQ(lines.next(), "a");
  EXPECT_EQ(lines.next(), "<html>");
  EXPECT_EQ(lines.next(), "\x1F");
}

TEST_F(Streams, AMarkAloneIsNoLine) {
  write("\uFEFF");
  writing_.close();
  EXPECT_EQ(reader().next(), std::nullopt);
}

TEST_F(Streams, LinesThatEndWithReturnsAreRefused) {
  EXPECT_EQ(
      refusal_of("a\rb\r"),
      "[data] the pipe is text whose lines end with CR alone, UTF-8 text is expected; convert "
      "it: tr '\\r' '\\n'");
}

TEST_F(TextFiles, APipeIsReadAsAFileIs) {
  const test::Pipe pipe(path("pipe"), "one\ntwo\n");
  const auto file = std::make_shared<InputFile>("data", path("pipe"));
  for (int pass = 0; pass < 2; ++pass) {
    TextReader reader(file);
    EXPECT_EQ(reader.next(), "one");
    EXPECT_EQ(reader.next(), "two");
    EXPECT_EQ(reader.next(), std::nullopt);
  }
}

}  // namespace
}  // namespace heed::data
