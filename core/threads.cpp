#include "core/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/cgroup.h"
#include "core/error.h"

namespace heed {
namespace {

constexpr int most_threads = 4096;

thread_local bool inside_part = false;

// Waits a moment; now and then lets another thread have the core, since the one that is waited for
// may be asking for the same.
void wait_a_moment(int spins) {
  if (spins % 64 == 63) {
    std::this_thread::yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Part `index` of `parts` equal ones (to within one) of [0, count).
int64_t part_begin(int64_t count, int64_t parts, int64_t index) {
  return count / parts * index + std::min(count % parts, index);
}

// Persistent workers. Whoever is free claims the next part of the present job, the caller included:
// on a busy machine nobody waits for a thread that has no core. What a part is depends on the job
// alone, so who runs it does not matter. Workers look for a job for some microseconds, since the
// next one of a training step follows soon, and then sleep.
class Pool {
 public:
  explicit Pool(int threads) {
    try {
      for (int i = 1; i < threads; ++i) {
        workers_.emplace_back([this] { work(); });
      }
    } catch (const std::system_error& failure) {
      const size_t started = workers_.size();
      stop();
      throw Error("threads", fmt::format("{} threads could not be started, only {}: {}", threads,
                                         started + 1, failure.what()));
    }
  }
  ~Pool() { stop(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  void run(int64_t count, int64_t parts, void* context, detail::RangeFunction function) {
    const std::lock_guard one_job(job_mutex_);
    count_ = count;
    parts_ = parts;
    context_ = context;
    function_ = function;
    failure_ = nullptr;
    remaining_.store(parts, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      unclaimed_.store(parts, std::memory_order_release);
    }
    if (sleeping_.load() > 0) {
      wake_.notify_all();
    }
    while (claim_and_run()) {
    }
    for (int spins = 0; remaining_.load(std::memory_order_acquire) > 0; ++spins) {
      spins < most_spins ? wait_a_moment(spins) : std::this_thread::yield();
    }
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  static constexpr int most_spins = 2000;

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) {
      worker.join();
    }
    workers_.clear();
  }

  // Takes the last part that nobody has taken yet. A job is not over, and its description does not
  // change, before every claimed part has run.
  bool claim_and_run() {
    int64_t left = unclaimed_.load(std::memory_order_acquire);
    while (left > 0) {
      if (unclaimed_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
        run_part(left - 1);
        remaining_.fetch_sub(1, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  void run_part(int64_t index) {
    inside_part = true;
    try {
      function_(context_, part_begin(count_, parts_, index), part_begin(count_, parts_, index + 1));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (failure_ == nullptr) {
        failure_ = std::current_exception();
      }
    }
    inside_part = false;
  }

  void work() {
    while (!stop_) {
      for (int spins = 0; spins < most_spins; ++spins) {
        if (claim_and_run()) {
          spins = 0;
        }
        wait_a_moment(spins);
      }
      std::unique_lock lock(mutex_);
      sleeping_.fetch_add(1);
      wake_.wait(lock, [&] { return stop_ || unclaimed_.load(std::memory_order_relaxed) > 0; });
      sleeping_.fetch_sub(1);
    }
  }

  std::vector<std::thread> workers_;
  std::mutex job_mutex_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<int64_t> unclaimed_{0};
  std::atomic<int64_t> remaining_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  // The job:
  int64_t count_ = 0;
  int64_t parts_ = 0;
  void* context_ = nullptr;
  detail::RangeFunction function_ = nullptr;
  std::exception_ptr failure_;
};

std::unique_ptr<Pool>& pool() {
  static auto instance = std::make_unique<Pool>(available_cores());
  return instance;
}

}  // namespace

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int affinity = sched_getaffinity(0, sizeof(set), &set) == 0
                           ? CPU_COUNT(&set)
                           : static_cast<int>(std::thread::hardware_concurrency());
  const int cores = std::max(affinity, 1);
  std::ifstream file("/proc/self/cgroup");
  const std::string groups(std::istreambuf_iterator<char>(file), {});
  return cgroup_cores(groups, "/sys/fs/cgroup", cores);
}

int thread_count() { return pool()->threads(); }

void set_thread_count(int count) {
  HEED_CHECK(count >= 1, "threads", "{} threads cannot work; 1 is the least", count);
  HEED_CHECK(count <= most_threads, "threads", "{} threads are too many; {} is the most", count,
             most_threads);
  if (count != pool()->threads()) {
    pool() = std::make_unique<Pool>(count);
  }
}

namespace detail {

void parallel_for(int64_t count, int64_t grain, void* context, RangeFunction function) {
  if (count <= 0) {
    return;
  }
  if (inside_part || count <= grain) {
    function(context, 0, count);
    return;
  }
  const int64_t most_parts = count / std::max<int64_t>(grain, 1);
  const int64_t parts = std::min<int64_t>(pool()->threads(), most_parts);
  if (parts <= 1) {
    function(context, 0, count);
    return;
  }
  pool()->run(count, parts, context, function);
}

}  // namespace detail
}  // namespace heed
