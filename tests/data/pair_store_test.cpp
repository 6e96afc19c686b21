#include "data/pair_store.h"

#include <gtest/gtest.h>

#include "core/random.h"

namespace heed::data {
namespace {

TEST(PairStore, GivesBackEveryPairInAnyOrder) {
  for (const size_t memory : {size_t{0}, size_t{1000}, ScratchFile::default_memory}) {
    PairStore store("a corpus", 300, 1000, memory);
    std::vector<PairExample> expected;
    Generator generator(2);
    for (int pair = 0; pair < 1000; ++pair) {
      PairExample example;
      for (auto* side : {&example.source, &example.target}) {
        side->resize(generator.below(9));
        for (int32_t& id : *side) {
          id = static_cast<int32_t>(generator.below(300));
        }
      }
      store.append(example);
      expected.push_back(example);
    }
    ASSERT_EQ(store.size(), 1000U);
    int64_t tokens = 0;
    for (size_t i = 1000; i-- > 0;) {
      EXPECT_EQ(store.at(i).source, expected[i].source) << i;
      EXPECT_EQ(store.at(i).target, expected[i].target) << i;
      EXPECT_EQ(store.source_length(i), expected[i].source.size());
      EXPECT_EQ(store.target_length(i), expected[i].target.size());
      tokens += static_cast<int64_t>(expected[i].source.size() + expected[i].target.size());
    }
    EXPECT_EQ(store.tokens(), tokens);
  }
}

}  // namespace
}  // namespace heed::data
