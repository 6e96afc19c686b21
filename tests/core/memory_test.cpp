#include "core/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/sanitizers.h"

namespace heed {
namespace {

TEST(Memory, IsAlignedWritableAndNeverShared) {
  DeviceMemory& memory = device_memory({});
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (size_t bytes = 0; bytes < 5000; bytes = bytes * 5 / 4 + 1) {
    auto* block = static_cast<unsigned char*>(memory.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0U) << bytes;
    std::memset(block, static_cast<int>(blocks.size()), bytes);
    blocks.emplace_back(block, bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, bytes] = blocks[i];
    EXPECT_TRUE(std::all_of(block, block + bytes, [i](unsigned char c) { return c == i; }));
    memory.deallocate(block, bytes);
  }
}

TEST(Memory, CachesBlocksOfASizeClass) {
  DeviceMemory& memory = device_memory({});
  void* const first = memory.allocate(1000);
  memory.deallocate(first, 1000);
  const int64_t calls = memory.statistics().system_calls;
  void* const second = memory.allocate(1001);
  EXPECT_EQ(second, first);
  EXPECT_EQ(memory.statistics().system_calls, calls);
  memory.deallocate(second, 1001);
}

TEST(Memory, WastesAQuarterAtMost) {
  DeviceMemory& memory = device_memory({});
  for (size_t bytes = 1; bytes < 3'000'000; bytes = bytes * 9 / 8 + 7) {
    const int64_t before = memory.statistics().in_use;
    void* const block = memory.allocate(bytes);
    const int64_t used = memory.statistics().in_use - before;
    EXPECT_GE(used, static_cast<int64_t>(bytes));
    EXPECT_LE(used, std::max(static_cast<int64_t>(bytes) * 5 / 4, static_cast<int64_t>(bytes) + 63))
        << bytes;
    memory.deallocate(block, bytes);
    EXPECT_EQ(used % 64, 0);
    EXPECT_EQ(memory.statistics().in_use, before);
  }
}

TEST(Memory, TellsItsPeakAndWhatItHolds) {
  DeviceMemory& memory = device_memory({});
  const MemoryStatistics start = memory.statistics();
  memory.reset_peak();
  constexpr int64_t bytes = 1 << 25;  // larger than what other tests leave in the cache
  memory.deallocate(memory.allocate(bytes), bytes);
  MemoryStatistics now = memory.statistics();
  EXPECT_EQ(now.in_use, start.in_use);
  EXPECT_EQ(now.peak_in_use, start.in_use + bytes);
  EXPECT_EQ(now.reserved, start.reserved + bytes);
  EXPECT_EQ(now.system_calls, start.system_calls + 1);
  memory.reset_peak();
  now = memory.statistics();
  EXPECT_EQ(now.peak_in_use, start.in_use);
  EXPECT_EQ(now.reserved, start.reserved + bytes) << "what is free is kept";
}

TEST(Memory, CopiesAndZeroes) {
  DeviceMemory& memory = device_memory({});
  const std::array<int, 3> given{1, 2, 3};
  std::array<int, 3> got{};
  void* const block = memory.allocate(sizeof(given));
  memory.copy_from_host(block, given.data(), sizeof(given));
  memory.copy_to_host(got.data(), block, sizeof(got));
  EXPECT_EQ(got, given);
  memory.zero(block, sizeof(given));
  memory.copy_to_host(got.data(), block, sizeof(got));
  EXPECT_EQ(got, (std::array<int, 3>{}));
  memory.copy_from_host(block, nullptr, 0);
  memory.deallocate(block, sizeof(given));
}

TEST(Memory, IsReadBackAsItWas) {
  DeviceMemory& memory = device_memory({});
  std::array<int, 3> values = {1, 2, 3};
  const std::unique_ptr<Readback> readback = memory.make_readback(sizeof(values));
  readback->begin(values.data(), sizeof(values));
  values.fill(0);
  std::array<int, 3> got{};
  std::memcpy(got.data(), readback->wait(), sizeof(got));
  EXPECT_EQ(got, (std::array<int, 3>{1, 2, 3}));
  readback->begin(values.data(), sizeof(int));
  std::memcpy(got.data(), readback->wait(), sizeof(int));
  EXPECT_EQ(got, (std::array<int, 3>{0, 2, 3}));
}

TEST(Memory, ServesSeveralThreads) {
  DeviceMemory& memory = device_memory({});
  const int64_t before = memory.statistics().in_use;
  const auto work = [&](unsigned char mark) {
    for (size_t i = 0; i < 2000; ++i) {
      const size_t bytes = 1 + i * 37 % 3000;
      auto* block = static_cast<unsigned char*>(memory.allocate(bytes));
      std::memset(block, mark, bytes);
      ASSERT_TRUE(std::all_of(block, block + bytes, [&](unsigned char c) { return c == mark; }));
      memory.deallocate(block, bytes);
    }
  };
  std::thread other(work, 1);
  work(2);
  other.join();
  EXPECT_EQ(memory.statistics().in_use, before);
}

TEST(Memory, SaysWhenThereIsNoMore) {
  if (test::memory_is_watched) {
    GTEST_SKIP() << "the sanitizer ends the program at once";
  }
  const int64_t in_use = device_memory({}).statistics().in_use;
  EXPECT_EQ(test::error_of([] { device_memory({}).allocate(size_t{1} << 62); }),
            fmt::format("[memory] no more memory: 4611686018427387904 bytes asked for, {} "
                        "in use; a smaller batch or model needs less",
                        in_use));
}

TEST(Memory, SaysWhichDeviceIsMissing) {
  EXPECT_EQ(test::error_of<InputError>([] {
              device_memory({DeviceKind::cuda, 1});
            }),
            "[device] cuda:1 has no memory here: call kernels::backend(device) first, in a build "
            "configured with -DHEED_CUDA=ON");
}

}  // namespace
}  // namespace heed
