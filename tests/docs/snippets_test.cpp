// The code shown in the documents is the code of the project: every C++ block of README.md and
// docs/*.md has to stand in a source file, line breaks and indentation apart.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string without_space(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      result += c;
    }
  }
  return result;
}

std::vector<std::string> blocks_of(const std::string& document) {
  const std::string fence = "```cpp\n";
  std::vector<std::string> blocks;
  for (size_t at = document.find(fence); at != std::string::npos; at = document.find(fence, at)) {
    at += fence.size();
    const size_t end = document.find("```", at);
    blocks.push_back(document.substr(at, end - at));
  }
  return blocks;
}

std::string all_sources(const fs::path& root) {
  std::string all;
  for (const char* room : {"core", "kernels", "autograd", "nn", "data", "train", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const auto extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp" || extension == ".cu") {
        all += without_space(read(entry.path()));
      }
    }
  }
  return all;
}

TEST(Documents, ShowCodeAsItStands) {
  const fs::path root = HEED_SOURCE_DIR;
  const std::string sources = all_sources(root);
  std::vector<fs::path> documents = {root / "README.md"};
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") {
      documents.push_back(entry.path());
    }
  }
  int checked = 0;
  for (const fs::path& document : documents) {
    for (const std::string& block : blocks_of(read(document))) {
      EXPECT_NE(sources.find(without_space(block)), std::string::npos)
          << document.filename() << " shows code that is not there:\n"
          << block;
      ++checked;
    }
  }
  EXPECT_GE(checked, 6);
}

}  // namespace
