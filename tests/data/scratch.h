#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace heed::data {

// Files in a folder of the test's own.
class ScratchFolder : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  // What f says is wrong with the input, file names without the folder.
  template <typename F>
  std::string refusal(const F& f) const {
    return without_folder(test::error_of<InputError>(f));
  }

  std::string without_folder(std::string text) const {
    const std::string prefix = folder_.path() + "/";
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
      text.erase(at, prefix.size());
    }
    return text;
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace heed::data
