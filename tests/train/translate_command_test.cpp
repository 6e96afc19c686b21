#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "core/file.h"
#include "core/file_descriptor.h"
#include "tests/train/run_program.h"
#include "tests/train/tiny_run.h"

namespace heed::test {
namespace {

class TranslateCommand : public TinyRun {};

TEST_F(TranslateCommand, TheBeamFollowsWhatWasAskedFor) {
  const std::string line = "the cat sleeps .\n";
  EXPECT_EQ(run({"translate", "runs/tiny", "--n-best", "3"}, line).code, 0);
  // A run that was made for three translations decodes greedily when told to.
  const Outcome trained = run({"train", "tiny.toml", "--run", "three", "--set", "decode.n_best=3",
                               "--set", "decode.beam_size=3"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Outcome greedy = run({"translate", "three", "--beam", "1"}, line);
  EXPECT_EQ(greedy.code, 0) << greedy.err;
  EXPECT_EQ(std::count(greedy.out.begin(), greedy.out.end(), '\n'), 1);
}

TEST_F(TranslateCommand, AScoreThatRoundsToZeroHasNoSign) {
  const Outcome outcome =
      run({"translate", "runs/tiny", "--scores", "--length-penalty", "10", "--min-length", "20"},
          "the cat sleeps .\n");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("0.0000\t")) << outcome.out;
}

TEST_F(TranslateCommand, KeepsLines) {
  const std::string sentence = "the small cat sleeps .";
  const Outcome alone = run({"translate", "runs/tiny"}, sentence + "\n");
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(alone.err, "");
  ASSERT_GT(alone.out.size(), 1u);
  // A mark at the start, CRLF, an empty line, a line separator within a line, a line that only
  // looks like a page, no last newline.
  const std::string input = "\xEF\xBB\xBF" + sentence + "\r\n\n" + sentence + "\n" +
                            "the cat\xE2\x80\xA8sleeps .\n<html> the cat\n" + sentence;
  const Outcome standard = run({"translate", "runs/tiny"}, input);
  EXPECT_EQ(standard.code, 0) << standard.err;
  EXPECT_EQ(std::count(standard.out.begin(), standard.out.end(), '\n'), 6);
  EXPECT_EQ(standard.out.find(alone.out + "\n" + alone.out), 0u) << standard.out;
  EXPECT_TRUE(standard.out.ends_with("\n" + alone.out));
  write_file("test", *folder_ / "lines.txt", input);
  const Outcome file =
      run({"translate", "runs/tiny", "--input", "lines.txt", "--output", "lines.out"});
  EXPECT_EQ(file.code, 0) << file.err;
  EXPECT_EQ(file.out, "");
  EXPECT_EQ(read_file("test", *folder_ / "lines.out"), standard.out);
}

TEST_F(TranslateCommand, MayWriteOverItsInput) {
  const std::string input = "the small cat sleeps .\n\nthe cat .\n";
  write_file("test", *folder_ / "both.txt", input);
  ASSERT_EQ(run({"translate", "runs/tiny", "--input", "both.txt", "--output", "both.txt"}).err, "");
  EXPECT_EQ(read_file("test", *folder_ / "both.txt"), run({"translate", "runs/tiny"}, input).out);
  expect_refused({"translate", "runs/tiny", "--input", "nosuch", "--output", "both.txt"},
                 "[data] nosuch: no such file in " + folder_->path() +
                     "; a relative path begins where heed is called\n");
  EXPECT_GT(read_file("test", *folder_ / "both.txt").size(), 2U) << "it stays";
}

TEST_F(TranslateCommand, SaysWhatTrainingNeverSaw) {
  std::string input = "the cat sleeps .\n\nthe zyx sleeps .\nxyz";
  const auto warned = [&](const std::string& unknown) {
    return "[translate] warning: " + unknown +
           " source tokens are not in the vocabulary; the first is 'zyx' in line 3 of standard "
           "input\n";
  };
  EXPECT_EQ(run({"translate", "runs/tiny"}, input).err, warned("2 of 9"));
  input += "\n";
  for (int i = 0; i < 51; ++i) {
    input += "the ";
  }
  EXPECT_EQ(run({"translate", "runs/tiny"}, input).err,
            warned("2 of 60") +
                "[translate] warning: 1 sentence is longer than any in training (data.max_length "
                "= 50); the first is line 5 of standard input\n");
}

TEST_F(TranslateCommand, GivesNLinesForEach) {
  EXPECT_EQ(run({"translate", "runs/tiny"}, "\xEF\xBB\xBF").code, 0) << "a mark and no line";
  const Outcome best =
      run({"translate", "runs/tiny", "--n-best", "3"}, "the cat sleeps .\n\nthe dog .\n");
  ASSERT_EQ(best.code, 0) << best.err;
  EXPECT_EQ(std::count(best.out.begin(), best.out.end(), '\n'), 9);
  EXPECT_NE(best.out.find("\n\n\n\n"), std::string::npos) << "three empty lines for an empty one";
}

TEST_F(TranslateCommand, NamesTheLineOfStandardInput) {
  const std::string advice =
      "is no UTF-8; convert it (iconv -f LATIN1 -t UTF-8), or train with data.invalid_utf8 = "
      "\"replace\"\n";
  expect_refused({"translate", "runs/tiny"},
                 "[data] standard input:1: byte 2 of the line, 0xE9, " + advice, "a\xE9\nb\n");
  const Outcome outcome = run({"translate", "runs/tiny"}, "a\nb\n\xFF\n");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "[translate] warning: 1 of 2 source tokens are not in the vocabulary; the first is 'b' "
            "in line 2 of standard input\n[data] standard input:3: byte 1 of the line, 0xFF, " +
                advice);
  EXPECT_EQ(outcome.out, run({"translate", "runs/tiny"}, "a\nb\n").out) << "the lines before";
}

// From a file and from standard input alike: what comes before the line is written, its alignments
// and its warning as well.
TEST_F(TranslateCommand, ALineThatCannotBeReadEndsTheWork) {
  const std::string before = "the cat .\nzyx .\n";
  write_file("test", *folder_ / "bad.txt", before + "\xFF\nthe cat .\n");
  const std::string out = run({"translate", "runs/tiny"}, before).out;
  for (const std::string input : {"bad.txt", "-"}) {
    const Outcome outcome =
        Program(*folder_,
                {"translate", "runs/tiny", "--input", input, "--alignments", input + ".html"}, "",
                {}, "bad.txt")
            .wait();
    const std::string name = input == "-" ? "standard input" : input;
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, out);
    EXPECT_EQ(outcome.err,
              "[translate] warning: 1 of 5 source tokens are not in the vocabulary; the first is "
              "'zyx' in line 2 of " +
                  name + "\n[translate] 2 alignments: " + input + ".html\n[data] " + name +
                  ":3: byte 1 of the line, 0xFF, is no UTF-8; convert it (iconv -f LATIN1 "
                  "-t UTF-8), or train with data.invalid_utf8 = \"replace\"\n");
  }
}

TEST_F(TranslateCommand, AnEmptyFileGivesNothing) {
  for (const char* content : {"", "\xEF\xBB\xBF"}) {
    write_file("test", *folder_ / "empty.txt", content);
    const Outcome outcome = run({"translate", "runs/tiny", "--input", "empty.txt"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(TranslateCommand, AnInputThatCannotBeReadIsNoEmptyOne) {
  const Outcome outcome = Program(*folder_, {"translate", "runs/tiny"}, "", {}, ".").wait();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "[translate] standard input cannot be read: Is a directory\n");
}

// What is written over is read to its end first, however many lines that takes.
TEST_F(TranslateCommand, AFileWrittenOverIsLostOnlyToItsTranslation) {
  const std::string many(3000, '\n');
  for (const std::string input : {"both.txt", "-"}) {
    const auto over_itself = [&] {
      return Program(*folder_, {"translate", "runs/tiny", "--input", input, "--output", "both.txt"},
                     "", {}, "both.txt")
          .wait();
    };
    write_file("test", *folder_ / "both.txt", many);
    EXPECT_EQ(over_itself().err, "");
    EXPECT_TRUE(read_file("test", *folder_ / "both.txt") == many);
    const std::string refused = "the cat .\n\xFF\nthe cat .\n";
    write_file("test", *folder_ / "both.txt", refused);
    EXPECT_EQ(over_itself().code, 2);
    EXPECT_EQ(read_file("test", *folder_ / "both.txt"), refused);
  }
}

// From both ways in, what was changed of a text is told.
TEST_F(TranslateCommand, SaysWhatItRepaired) {
  ASSERT_EQ(
      run({"train", "tiny.toml", "--run", "lenient", "--set", "data.invalid_utf8=replace"}).code,
      0);
  write_file("test", *folder_ / "old.txt", "the cat .\r\nthe c\xFF .\n");
  for (const std::string input : {"old.txt", "-"}) {
    const Outcome outcome =
        Program(*folder_, {"translate", "lenient", "--input", input}, "", {}, "old.txt").wait();
    const std::string name = input == "-" ? "standard input" : input;
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err,
              "[data] " + name +
                  ": a CR was removed from the end of 1 of 2 lines\n[data] warning: " + name +
                  ": 1 invalid parts were replaced by U+FFFD\n[translate] warning: 2 of 7 source "
                  "tokens are not in the vocabulary; the first is 'c' in line 2 of " +
                  name + "\n");
  }
}

// Who writes a sentence and waits for its translation gets it.
TEST_F(TranslateCommand, AnswersWhoWaits) {
  ASSERT_EQ(mkfifo((*folder_ / "dialogue").c_str(), 0600), 0);
  FileDescriptor writer(::open((*folder_ / "dialogue").c_str(), O_RDWR | O_CLOEXEC));
  const Program program(*folder_, {"translate", "runs/tiny"}, "", {}, "dialogue");
  size_t lines = 0;
  const auto wait_for_lines = [&] {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    std::string out;
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      out = read_file("test", *folder_ / "stdout");
    } while (static_cast<size_t>(std::count(out.begin(), out.end(), '\n')) < lines &&
             std::chrono::steady_clock::now() < limit);
    return static_cast<size_t>(std::count(out.begin(), out.end(), '\n'));
  };
  for (const std::string text : {"the cat .\n", "\n", "the dog .\nthe small cat sleeps .\nthe"}) {
    ASSERT_TRUE(writer.write_all(text));
    lines += static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(wait_for_lines(), lines);
  }
  writer.close();
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(static_cast<size_t>(std::count(outcome.out.begin(), outcome.out.end(), '\n')),
            lines + 1);
}

TEST_F(TranslateCommand, AlignmentsAreAPageOrAPicture) {
  expect_refused({"translate", "runs/tiny", "--alignments", "a.png"},
                 "[heed] --alignments is a.png: a name ending in .html (a page) or .svg (a picture "
                 "of the only one) is expected\n");
  const Arguments picture = {"translate", "runs/tiny", "--alignments", "one.svg"};
  EXPECT_EQ(run(picture, "\nthe cat .\n\n").err, "[translate] 1 alignment: one.svg\n");
  expect_refused(picture,
                 "[translate] one.svg holds one alignment, line 3 of standard input would be "
                 "another; an .html page holds them all\n",
                 "the cat .\n\nthe dog .\n");
  expect_refused({"translate", "runs/tiny", "--alignments", "one.svg", "--n-best", "2"},
                 "[translate] one.svg holds one alignment, n_best = 2 gives more; an .html page "
                 "holds them all\n",
                 "the cat .\n");
  const Outcome none = run(picture, "");
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err, "[translate] there is no sentence whose alignment one.svg could hold\n");
}

}  // namespace
}  // namespace heed::test
