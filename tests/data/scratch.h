#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/error.h"

namespace heed::data {

// A folder of its own for each test, removed after it.
class ScratchFolder : public ::testing::Test {
 protected:
  ScratchFolder()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("heed_data_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ScratchFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  // What f says is wrong with the input, file names without the folder.
  template <typename F>
  std::string refusal(F&& f) const {
    try {
      f();
    } catch (const InputError& error) {
      return without_folder(error.what());
    }
    return "no error";
  }

  std::string without_folder(std::string text) const {
    const std::string prefix = folder_.string() + "/";
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
      text.erase(at, prefix.size());
    }
    return text;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace heed::data
