#include "core/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/error_of.h"

namespace heed {
namespace {

class Threads : public testing::Test {
 protected:
  ~Threads() override { set_thread_count(available_cores()); }
};

using Parts = std::vector<std::pair<int64_t, int64_t>>;

Parts parts_of(int64_t count, int64_t grain) {
  Parts parts;
  std::mutex mutex;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    parts.emplace_back(begin, end);
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

TEST_F(Threads, StartWithTheCoresOfTheProcess) {
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(thread_count(), available_cores());
}

TEST_F(Threads, PartsCoverTheRangeOnceInNearlyEqualShares) {
  for (const int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    EXPECT_EQ(thread_count(), threads);
    for (const int64_t count : {1, 2, 6, 7, 8, 97, 1000}) {
      SCOPED_TRACE(testing::Message() << threads << " threads, " << count << " items");
      const Parts parts = parts_of(count, 1);
      EXPECT_EQ(static_cast<int64_t>(parts.size()), std::min<int64_t>(threads, count));
      int64_t next = 0;
      for (const auto& [begin, end] : parts) {
        EXPECT_EQ(begin, next);
        EXPECT_GE(end - begin, count / static_cast<int64_t>(parts.size()));
        EXPECT_LE(end - begin, count / static_cast<int64_t>(parts.size()) + 1);
        next = end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST_F(Threads, NoPartIsSmallerThanTheGrain) {
  set_thread_count(4);
  EXPECT_EQ(parts_of(16, 16), (Parts{{0, 16}}));
  EXPECT_EQ(parts_of(17, 16), (Parts{{0, 17}}));
  EXPECT_EQ(parts_of(32, 16), (Parts{{0, 16}, {16, 32}}));
  EXPECT_EQ(parts_of(50, 16), (Parts{{0, 17}, {17, 34}, {34, 50}}));
  EXPECT_EQ(parts_of(100, 16), (Parts{{0, 25}, {25, 50}, {50, 75}, {75, 100}}));
  EXPECT_EQ(parts_of(5, 16), (Parts{{0, 5}}));
}

TEST_F(Threads, AnEmptyRangeCallsNothing) {
  EXPECT_EQ(parts_of(0, 1), Parts{});
  EXPECT_EQ(parts_of(-3, 1), Parts{});
}

TEST_F(Threads, WorkInsideAPartRunsInPlace) {
  set_thread_count(4);
  std::vector<int> inner_parts(8, 0);
  std::vector<bool> same_thread(8, false);
  std::mutex mutex;
  parallel_for(8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      parallel_for(1000, 1, [&](int64_t inner_begin, int64_t inner_end) {
        const std::lock_guard lock(mutex);
        inner_parts[static_cast<size_t>(i)] += inner_begin == 0 && inner_end == 1000 ? 1 : 100;
        same_thread[static_cast<size_t>(i)] = std::this_thread::get_id() == outer;
      });
    }
  });
  EXPECT_EQ(inner_parts, std::vector<int>(8, 1));
  EXPECT_EQ(same_thread, std::vector<bool>(8, true));
}

TEST_F(Threads, AnExceptionOfAnyPartReachesTheCaller) {
  set_thread_count(3);
  for (const int64_t bad : {0, 1, 2}) {
    std::string message = "no error";
    try {
      parallel_for(3, 1, [&](int64_t begin, int64_t) {
        if (begin == bad) {
          throw std::runtime_error("part " + std::to_string(bad));
        }
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "part " + std::to_string(bad));
  }
  EXPECT_EQ(parts_of(3, 1), (Parts{{0, 1}, {1, 2}, {2, 3}}));
}

// Jobs with fewer parts than threads, one right after the other: a worker that sat one out must
// not take a share of the next one twice.
TEST_F(Threads, ManyJobsOfChangingWidthLoseAndRepeatNothing) {
  set_thread_count(5);
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> items{0};
  int64_t expected_calls = 0;
  int64_t expected_items = 0;
  for (int job = 0; job < 400; ++job) {
    const int64_t count = 2 + job % 4;
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      calls.fetch_add(1, std::memory_order_relaxed);
      items.fetch_add(end - begin, std::memory_order_relaxed);
    });
    expected_calls += count;
    expected_items += count;
    ASSERT_EQ(calls.load(), expected_calls) << "after job " << job;
    ASSERT_EQ(items.load(), expected_items) << "after job " << job;
  }
}

TEST_F(Threads, TwoCallersTakeTurns) {
  set_thread_count(3);
  std::atomic<int64_t> items{0};
  const auto work = [&] {
    for (int job = 0; job < 100; ++job) {
      parallel_for(64, 1, [&](int64_t begin, int64_t end) { items += end - begin; });
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(items.load(), 2 * 100 * 64);
}

TEST_F(Threads, RefusesACountOutOfRangeAndKeepsTheOldOne) {
  set_thread_count(3);
  const auto message_of = [](int count) {
    return test::error_of([&] { set_thread_count(count); });
  };
  EXPECT_EQ(message_of(0), "[threads] 0 threads cannot work; 1 is the least");
  EXPECT_EQ(message_of(4097), "[threads] 4097 threads are too many; 4096 is the most");
  EXPECT_EQ(thread_count(), 3);
}

}  // namespace
}  // namespace heed
