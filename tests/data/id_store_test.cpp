#include "data/id_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/support/all_ids.h"

namespace heed::data {
namespace {

// Every width, in memory and in a file, in parts that end anywhere.
TEST(IdStore, GivesBackAnyPartOfWhatWasAppended) {
  for (const int64_t vocabulary : {256, 257, 65536, 65537}) {
    for (const size_t memory : {size_t{0}, size_t{30000}, ScratchFile::default_memory}) {
      IdStore store("a text", vocabulary, memory);
      std::vector<int32_t> expected;
      Generator generator(3);
      while (expected.size() < 20000) {
        std::vector<int32_t> part(generator.below(9000));
        for (int32_t& id : part) {
          id = static_cast<int32_t>(generator.below(static_cast<uint64_t>(vocabulary)));
        }
        part.push_back(static_cast<int32_t>(vocabulary - 1));
        store.append(part);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      ASSERT_EQ(store.size(), static_cast<int64_t>(expected.size()));
      EXPECT_EQ(test::all_ids(store), expected) << vocabulary << " " << memory;
      for (int i = 0; i < 50; ++i) {
        const auto begin = static_cast<int64_t>(generator.below(expected.size()));
        std::vector<int32_t> part(generator.below(expected.size() - begin));
        store.read(begin, part);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + begin));
      }
    }
  }
}

TEST(IdStore, MayBeEmpty) {
  EXPECT_TRUE(IdStore("a text", 10).empty());
  EXPECT_TRUE(IdStore().empty());
}

}  // namespace
}  // namespace heed::data
