#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/file.h"
#include "tests/support/temporary_folder.h"

extern char** environ;

// The program as its users run it: exit codes, and what is said on which stream.
namespace heed::test {

using Arguments = std::vector<std::string>;

struct Outcome {
  int code = -1;
  std::string out, err;
};

// A running program in the folder, its streams in files there. One at a time in a folder.
class Program {
 public:
  // environment: "NAME=value" besides this process's own. What stands in the folder as `stream`,
  // unless it is the input given, is read instead.
  Program(const TemporaryFolder& folder, const Arguments& arguments, const std::string& input = "",
          Arguments environment = {}, const std::string& stream = "stdin")
      : folder_(folder) {
    write_file("test", folder / "stdin", input);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    constexpr int created = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, 0, (folder / stream).c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, (folder / "stdout").c_str(), created, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, (folder / "stderr").c_str(), created, 0600);
    posix_spawn_file_actions_addchdir_np(&actions, folder.path().c_str());
    Arguments held = arguments;
    held.insert(held.begin(), "heed");
    std::vector<char*> variables = pointers(environment);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      variables.insert(variables.end() - 1, *variable);
    }
    const int failure =
        posix_spawn(&id_, HEED_PROGRAM, &actions, nullptr, pointers(held).data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
      throw std::runtime_error(std::string("no program: ") + std::strerror(failure));
    }
  }
  pid_t id() const { return id_; }
  std::string error_output() const { return read_file("test", folder_ / "stderr"); }
  // Kills it, unless it has ended by itself, with exit code 0: then false.
  bool kill_now() const {
    int status = 0;
    EXPECT_EQ(kill(id_, SIGKILL), 0);
    EXPECT_EQ(waitpid(id_, &status, 0), id_);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << error_output();
    return WIFSIGNALED(status);
  }
  // It died of SIGKILL.
  void wait_killed() const {
    int status = 0;
    EXPECT_EQ(waitpid(id_, &status, 0), id_);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << error_output();
  }
  Outcome wait() const {
    int status = 0;
    EXPECT_EQ(waitpid(id_, &status, 0), id_);
    EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
    return {WEXITSTATUS(status), read_file("test", folder_ / "stdout"), error_output()};
  }

 private:
  static std::vector<char*> pointers(Arguments& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) {
      all.push_back(text.data());
    }
    all.push_back(nullptr);
    return all;
  }

  const TemporaryFolder& folder_;
  pid_t id_ = 0;
};

// The first log line of a command names this machine.
inline std::string without_machine(std::string text) {
  const size_t begin = text.find("[run] heed ");
  return begin == std::string::npos ? text : text.erase(begin, text.find('\n', begin) + 1 - begin);
}

}  // namespace heed::test
