#include "core/file_lock.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace heed {
namespace {

TEST(FileLock, NamesItsHolderAndGoesWithIt) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "lock";
  {
    const FileLock first("run", path);
    EXPECT_TRUE(first.held());
    const FileLock second("run", path);
    EXPECT_FALSE(second.held());
    EXPECT_EQ(second.holder().find(fmt::format("process {} on ", getpid())), 0u);
    EXPECT_EQ(second.holder() + "\n", read_file("test", path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(FileLock("run", path).held());
}

// A process that ends without a word frees its lock; the file it leaves is none.
TEST(FileLock, OfADeadProcessIsTakenOver) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "lock";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FileLock lock("run", path);
    static_cast<void>(!write(ready[1], "x", 1));
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(FileLock("run", path).holder().find(fmt::format("process {} on ", child)), 0u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(FileLock("run", path).held());
}

TEST(FileLock, AHolderThatIsNotNamed) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "lock";
  const FileLock first("run", path);
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(FileLock("run", path).holder(), "another process");
}

TEST(FileLock, NeedsItsFolder) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "missing/lock";
  EXPECT_EQ(test::error_of([&] { FileLock("run", path); }),
            "[run] " + path + ": cannot be created: No such file or directory");
}

}  // namespace
}  // namespace heed
