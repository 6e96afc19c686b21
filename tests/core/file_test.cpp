#include "core/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace heed {
namespace {

using test::TemporaryFolder;

std::string read_error(const std::string& path, int64_t most_bytes = 1000) {
  return test::error_of<InputError>([&] { read_file("data", path, most_bytes); });
}

// A failing write is the machine's fault, not the user's: Error, not InputError.
std::string write_error(const std::string& path, std::string_view content) {
  try {
    write_file("run", path, content);
  } catch (const InputError& error) {
    return std::string("as InputError: ") + error.what();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> names_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Writes fail past this many bytes, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit lowered{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &lowered);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit old_{};
};

TEST(File, ReadsWhatWasWritten) {
  const TemporaryFolder folder;
  std::string large(200'000, '\0');  // several reads
  for (size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<char>(i * 31 % 251);
  }
  for (const std::string& content : {std::string(), std::string("a\r\n\0b\xff", 6), large}) {
    write_file("run", folder / "file", content);
    EXPECT_TRUE(read_file("data", folder / "file") == content) << content.size() << " bytes";
  }
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"file"});
}

TEST(File, ReadsUpToTheLimit) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file("run", path, "four");
  EXPECT_EQ(read_file("data", path, 4), "four");
  EXPECT_EQ(read_error(path, 3), "[data] " + path + ": 4 bytes, at most 3 are read");
}

TEST(File, ReadsNoEndlessDevice) {
  // Its size is 0 to the file system.
  EXPECT_EQ(read_error("/dev/zero"), "[data] /dev/zero: goes on after 1000 bytes, the most read");
}

TEST(File, ReadSaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  EXPECT_EQ(read_error(path), "[data] " + path + ": no such file");
  EXPECT_EQ(read_error(""), "[data] : no such file");
  EXPECT_EQ(read_error(folder.path()),
            "[data] " + folder.path() + ": is a folder, a file is expected");
  write_file("run", path, "x");
  EXPECT_EQ(read_error("/proc/self/mem"),
            "[data] /proc/self/mem: cannot be read: Input/output error");
  EXPECT_EQ(read_error(path + "/below"),
            "[data] " + path + "/below: cannot be read: Not a directory");
}

TEST(File, ReadSaysWhenItIsNotAllowed) {
  if (geteuid() == 0) {
    GTEST_SKIP() << "root may read everything";
  }
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file("run", path, "secret");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_EQ(read_error(path), "[data] " + path + ": cannot be read: Permission denied");
}

TEST(File, WriteReplacesTheWholeFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file("run", path, "a long first content");
  std::ifstream reader(path);  // still reads the file it opened
  write_file("run", path, "short");
  EXPECT_EQ(read_file("data", path), "short");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "a long first content");
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"file"});
}

TEST(File, WriteReplacesWhatAnInterruptedWriteLeft) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file.tmp") << "a longer, unfinished content";
  write_file("run", folder / "file", "whole");
  EXPECT_EQ(read_file("data", folder / "file"), "whole");
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"file"});
}

TEST(File, WriteTakesANameWithoutFolder) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  write_file("run", "file", "here");
  std::filesystem::current_path(before);
  EXPECT_EQ(read_file("data", folder / "file"), "here");
}

TEST(File, WriteKeepsTheOldFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file("run", path, "old");
  std::string message;
  {
    const FileSizeLimit limit(4096);
    message = write_error(path, std::string(100'000, 'x'));
  }
  EXPECT_EQ(message, "[run] " + path + ": cannot be written: File too large");
  EXPECT_EQ(read_file("data", path), "old");
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"file"});
}

TEST(File, WriteKeepsAFolderInItsPlace) {
  const TemporaryFolder folder;
  const std::string path = folder / "place";
  std::filesystem::create_directory(path);
  EXPECT_EQ(write_error(path, "x"),
            "[run] " + path + ": cannot be renamed into place: Is a directory");
  EXPECT_TRUE(std::filesystem::is_directory(path));
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"place"});
}

TEST(File, WriteNeedsItsFolder) {
  const TemporaryFolder folder;
  const std::string path = folder / "missing/file";
  EXPECT_EQ(write_error(path, "x"),
            "[run] " + path + ".tmp: cannot be created: No such file or directory");
  EXPECT_TRUE(names_in(folder).empty());
}

TEST(File, WriteKeepsTheOldFileInAReadOnlyFolder) {
  if (geteuid() == 0) {
    GTEST_SKIP() << "root may write everywhere";
  }
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file("run", path, "old");
  ASSERT_EQ(chmod(folder.path().c_str(), 0500), 0);
  EXPECT_EQ(write_error(path, "new"),
            "[run] " + path + ".tmp: cannot be created: Permission denied");
  EXPECT_EQ(read_file("data", path), "old");
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"file"});
  ASSERT_EQ(chmod(folder.path().c_str(), 0700), 0);
}

}  // namespace
}  // namespace heed
