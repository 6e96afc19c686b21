#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/id_store.h"
#include "data/pair_store.h"
#include "data/text_corpus.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_folder.h"

// What is read and kept does not grow with the file.
namespace heed::data {
namespace {

// Megabytes of this process that are no file's.
int64_t anonymous_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kilobytes = 0;
  while (status >> word) {
    if (word == "RssAnon:") {
      status >> kilobytes;
    }
  }
  return kilobytes >> 10;
}

class Memory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::memory_is_watched) {
      GTEST_SKIP() << "the sanitizer has memory of its own";
    }
  }

  std::string write(int64_t megabytes) const {
    std::string part;
    while (part.size() < (size_t{1} << 20)) {
      part += "the cat sat on the mat\tle chat était assis sur le tapis\n";
    }
    std::ofstream file(folder_ / "text.tsv", std::ios::binary);
    for (int64_t i = 0; i < megabytes; ++i) {
      file << part;
    }
    return folder_ / "text.tsv";
  }

  test::TemporaryFolder folder_;
};

TEST_F(Memory, OfARunningTextIsThatOfAFewLines) {
  const std::string path = write(48);
  const int64_t before = anonymous_memory();
  int64_t bytes = 0;
  IdStore ids("a text", 300);
  std::vector<int32_t> line_ids;
  RunningText::load(path).for_each_line([&](const RunningText::Line& line) {
    bytes += static_cast<int64_t>(line.text.size()) + 1;
    line_ids.assign(line.text.begin(), line.text.end());
    ids.append(line_ids);
  });
  EXPECT_GT(bytes, int64_t{48} << 20);
  EXPECT_GT(ids.size(), int64_t{47} << 20);
  EXPECT_LT(anonymous_memory() - before, 25) << "of 48 MB of text and 96 MB of ids";
}

TEST_F(Memory, OfPairsHoldsNeitherTextNorIds) {
  const std::string path = write(32);
  const int64_t before = anonymous_memory();
  const PairCorpus corpus = load_pair_corpus({path}, Split::train);
  PairStore store("pairs", 60000, corpus.size(), 4096);
  corpus.for_each([&](const PairView& pair) {
    store.append(
        {std::vector<int32_t>(pair.source.size(), 4), std::vector<int32_t>(pair.target.size(), 5)});
  });
  EXPECT_EQ(static_cast<int64_t>(store.size()), corpus.size());
  EXPECT_GT(store.tokens(), int64_t{30} << 20);
  EXPECT_LT(anonymous_memory() - before, 25) << "of 32 MB of text and 60 MB of ids";
}

TEST_F(Memory, OfAPairIsEightBytes) {
  constexpr int64_t pairs = int64_t{4} << 20;
  const int64_t before = anonymous_memory();
  PairStore store("pairs", 300, pairs, 4096);
  const PairExample example{{4}, {5}};
  for (int64_t i = 0; i < pairs; ++i) {
    store.append(example);
  }
  const int64_t used = anonymous_memory() - before;
  EXPECT_GE(used, pairs * 8 >> 20);
  EXPECT_LT(used, pairs * 9 >> 20);
}

}  // namespace
}  // namespace heed::data
