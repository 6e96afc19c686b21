#include "core/scratch_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/input_file.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace heed {
namespace {

class TemporaryFiles : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("TMPDIR", folder_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("TMPDIR"); }

  test::TemporaryFolder folder_;
};

std::string bytes_of(const ScratchFile& file, int64_t offset, size_t count) {
  std::string bytes(count, '?');
  file.read_at(offset, bytes.data(), count);
  return bytes;
}

TEST_F(TemporaryFiles, HoldLittleAndWriteMuch) {
  ScratchFile file("test", "bytes", 10);
  file.append("0123456789", 10);
  EXPECT_EQ(bytes_of(file, 2, 5), "23456");
  file.append("abcdef", 6);
  file.append("ghij", 4);
  EXPECT_EQ(file.size(), 20);
  EXPECT_EQ(bytes_of(file, 0, 20), "0123456789abcdefghij");
  EXPECT_EQ(bytes_of(file, 14, 4), "efgh") << "from the file and from memory";
  EXPECT_EQ(bytes_of(file, 18, 2), "ij");
  EXPECT_EQ(bytes_of(file, 20, 0), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "it has no name to be left behind";
}

TEST_F(TemporaryFiles, SayWhereThereIsNoRoom) {
  ::setenv("TMPDIR", "/no/such/folder", 1);
  ScratchFile file("test", "the ids of a.txt", 3);
  file.append("abc", 3);  // as many as are held
  EXPECT_EQ(test::error_of<Error>([&] { file.append("d", 1); }),
            "[test] the ids of a.txt: cannot make a temporary file in /no/such/folder: No such "
            "file or directory; set TMPDIR to a folder with room");
}

TEST_F(TemporaryFiles, AFileIsReadAtAnyPlace) {
  const std::string path = folder_ / "a.txt";
  std::ofstream(path) << "0123456789";
  const InputFile file("data", path);
  EXPECT_EQ(file.size(), 10);
  char bytes[4];
  EXPECT_EQ(file.read_at(3, bytes, 4), 4U);
  EXPECT_EQ(std::string(bytes, 4), "3456");
  EXPECT_EQ(file.read_at(8, bytes, 4), 2U);
  EXPECT_EQ(file.read_at(10, bytes, 4), 0U);
  EXPECT_EQ(file.read_at(99, bytes, 4), 0U);
  file.check_unchanged();
}

TEST_F(TemporaryFiles, AFileThatChangesIsNoticed) {
  const std::string path = folder_ / "a.txt";
  std::ofstream(path) << "0123456789";
  const InputFile file("data", path);
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_EQ(
      test::error_of<InputError>([&] { file.check_unchanged(); }),
      "[data] " + path + " was written to while it was read; start again when it stands still");
  // One that is replaced is still the one that was opened.
  const InputFile second("data", path);
  std::filesystem::rename(path, path + ".old");
  std::ofstream(path) << "other";
  second.check_unchanged();
  EXPECT_EQ(second.size(), 11);
}

TEST_F(TemporaryFiles, WhatCannotBeOpenedIsNamed) {
  const auto opening = [](const std::string& path) {
    return test::error_of<InputError>([&] { InputFile("data", path); });
  };
  EXPECT_EQ(opening("/no/such"), "[data] /no/such: no such file");
  EXPECT_EQ(opening(folder_.path()),
            "[data] " + folder_.path() + ": is a folder, a file is expected");
}

}  // namespace
}  // namespace heed
