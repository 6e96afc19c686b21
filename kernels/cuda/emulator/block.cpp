#include <algorithm>
#include <atomic>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/threads.h"
#include "kernels/cuda/emulator/cuda_runtime.h"
#include "kernels/cuda/emulator/emulator.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim;
constinit thread_local dim3 gridDim;

namespace heed::emulator {
namespace {

namespace context = boost::context;

Order order_from_environment() {
  const char* text = std::getenv("HEED_EMULATOR_ORDER");
  const std::string name = text == nullptr ? "forward" : text;
  if (name == "reverse") {
    return Order::reverse;
  }
  if (name == "shuffled") {
    return Order::shuffled;
  }
  if (name != "forward") {
    fail("HEED_EMULATOR_ORDER is none of forward, reverse, shuffled");
  }
  return Order::forward;
}

std::atomic<Order>& order_now() {
  static std::atomic<Order> now{order_from_environment()};
  return now;
}

std::vector<int64_t> sequence(int64_t count, uint64_t stream) {
  std::vector<int64_t> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<int64_t>(i);
  }
  if (order() == Order::reverse) {
    std::reverse(result.begin(), result.end());
  } else if (order() == Order::shuffled) {
    Generator(7, stream).shuffle(result);
  }
  return result;
}

// A stack that threads of blocks run on, one after another until one has to wait.
class Worker {
 public:
  Worker() : stack_(context::protected_fixedsize_stack(stack_bytes).allocate()) {
    fiber_ =
        context::fiber(std::allocator_arg, context::preallocated(stack_.sp, stack_.size, stack_),
                       context::protected_fixedsize_stack(stack_bytes),
                       [this](context::fiber&& back) { return run(std::move(back)); });
  }
  ~Worker() {
    work_ = nullptr;
    resume();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Called by the scheduler: begins `work`, or goes on where suspend() was called.
  void start(void (*work)(void*), void* argument) {
    work_ = work;
    argument_ = argument;
    resume();
  }
  void resume() {
#ifdef __SANITIZE_ADDRESS__
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, static_cast<char*>(stack_.sp) - stack_.size,
                                   stack_.size);
#endif
    fiber_ = std::move(fiber_).resume();
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  }
  // Called from within: back to the scheduler.
  void suspend() {
#ifdef __SANITIZE_ADDRESS__
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, scheduler_bottom_, scheduler_size_);
#endif
    back_ = std::move(back_).resume();
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake_stack, &scheduler_bottom_, &scheduler_size_);
#endif
  }

 private:
  static constexpr size_t stack_bytes = 128 << 10;

  context::fiber run(context::fiber&& back) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_bottom_, &scheduler_size_);
#endif
    back_ = std::move(back);
    while (work_ != nullptr) {
      work_(argument_);
      suspend();
    }
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(nullptr, scheduler_bottom_, scheduler_size_);
#endif
    return std::move(back_);
  }

  context::stack_context stack_;
  context::fiber fiber_;
  context::fiber back_;
  void (*work_)(void*) = nullptr;
  void* argument_ = nullptr;
#ifdef __SANITIZE_ADDRESS__
  const void* scheduler_bottom_ = nullptr;
  size_t scheduler_size_ = 0;
#endif
};

enum class State : uint8_t { unstarted, ready, at_barrier, at_warp, done };

struct Thread {
  State state = State::unstarted;
  Worker* worker = nullptr;
  uint3 index{};
};

struct Warp {
  unsigned arrived = 0;  // a bit a lane
  uint64_t exchanges = 0;
  std::vector<Thread*> lanes;     // in the order of their turns
  LaneValue values[2][warpSize];  // the exchange being made and the one before it
};

// Runs blocks on this thread of the system, one after another.
class Runner {
 public:
  void run(const cudaLaunchConfig_t& config, const uint3& block, void (*body)(const void*),
           const void* context) {
    const dim3& size = config.blockDim;
    body_ = body;
    context_ = context;
    count_ = static_cast<int>(size.x * size.y * size.z);
    threads_.assign(static_cast<size_t>(count_), Thread{});
    warps_.assign(static_cast<size_t>((count_ + warpSize - 1) / warpSize), Warp{});
    for (int i = 0; i < count_; ++i) {
      const auto n = static_cast<unsigned>(i);
      threads_[static_cast<size_t>(i)].index = {n % size.x, n / size.x % size.y,
                                                n / size.x / size.y};
    }
    // Nothing is known of shared memory when a block begins, and nothing lies behind it.
    const size_t units =
        (config.dynamicSmemBytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
    shared_ = std::vector<std::max_align_t>(units, poison());
    waiting_ = finished_ = or_now_ = 0;
    ::blockIdx = block;
    ::blockDim = size;
    ::gridDim = config.gridDim;
    schedule(block);
  }

  // --- called from the threads of the block ---

  int barrier(int predicate) {
    or_now_ |= predicate != 0 ? 1 : 0;
    ++waiting_;
    if (waiting_ == count_) {
      waiting_ = 0;
      or_result_ = std::exchange(or_now_, 0);
      for (Thread& thread : threads_) {
        thread.state = State::ready;
      }
    } else {
      current().state = State::at_barrier;
    }
    wait();
    return or_result_;
  }

  const LaneValue* exchange(unsigned mask, const LaneValue& value) {
    Warp& warp = warps_[static_cast<size_t>(current_ / warpSize)];
    const int first = current_ / warpSize * warpSize;
    const int lanes = std::min(warpSize, count_ - first);
    const unsigned all = lanes == warpSize ? 0xffffffff : (1U << lanes) - 1;
    if (mask != all) {
      fail("a shuffle names other lanes than all of its warp's");
    }
    LaneValue* values = warp.values[warp.exchanges % 2];
    values[current_ - first] = value;
    warp.arrived |= 1U << (current_ - first);
    if (warp.arrived == all) {
      warp.arrived = 0;
      ++warp.exchanges;
      for (int i = 0; i < lanes; ++i) {
        threads_[static_cast<size_t>(first + i)].state = State::ready;
      }
    } else {
      current().state = State::at_warp;
    }
    wait();
    return values;
  }

  int lane() const { return current_ % warpSize; }
  void* shared() { return shared_.data(); }

 private:
  static std::max_align_t poison() {
    std::max_align_t value;
    std::memset(&value, 0xff, sizeof(value));
    return value;
  }

  Thread& current() { return threads_[static_cast<size_t>(current_)]; }

  // What a worker runs: threads that have not begun, until one waits (and keeps the stack).
  static void run_threads(void* runner) {
    auto* self = static_cast<Runner*>(runner);
    Worker* const worker = self->running_;
    while (self->next_ < self->order_.size()) {
      self->current_ = static_cast<int>(self->order_[self->next_++]);
      Thread& thread = self->current();
      thread.state = State::ready;
      thread.worker = worker;
      ::threadIdx = thread.index;
      self->body_(self->context_);
      self->current().state = State::done;
      ++self->finished_;
    }
    self->idle_.push_back(worker);
  }

  // Gives way until the scheduler comes back to this thread.
  void wait() {
    const int own = current_;
    threads_[static_cast<size_t>(own)].worker->suspend();
    current_ = own;
    ::threadIdx = current().index;
  }

  // As far as a warp gets alone: warps whose lanes meet often are not in step for that.
  bool run_ahead(const Warp& warp) {
    bool ran = false;
    for (bool again = true; again;) {
      again = false;
      for (const Thread* lane : warp.lanes) {
        if (lane->state == State::ready) {
          again = ran = true;
          running_ = lane->worker;
          running_->resume();
        }
      }
    }
    return ran;
  }

  void schedule(const uint3& block) {
    order_ = sequence(count_, block.x + 1);
    next_ = 0;
    while (next_ < order_.size()) {
      if (idle_.empty()) {
        workers_.push_back(std::make_unique<Worker>());
        idle_.push_back(workers_.back().get());
      }
      running_ = idle_.back();
      idle_.pop_back();
      running_->start(run_threads, this);
    }
    std::vector<Warp*> turns;
    for (const int64_t i : order_) {
      Warp& warp = warps_[static_cast<size_t>(i / warpSize)];
      if (warp.lanes.empty()) {
        turns.push_back(&warp);
      }
      warp.lanes.push_back(&threads_[static_cast<size_t>(i)]);
    }
    while (finished_ < count_) {
      bool progress = false;
      for (const Warp* warp : turns) {
        progress = run_ahead(*warp) || progress;
      }
      if (!progress) {
        fail(finished_ > 0 ? "threads wait at a barrier or shuffle that others of their block "
                             "left the kernel without reaching"
                           : "threads of a block wait at different barriers or shuffles");
      }
    }
  }

  void (*body_)(const void*) = nullptr;
  const void* context_ = nullptr;
  int count_ = 0;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<std::max_align_t> shared_;
  std::vector<int64_t> order_;
  size_t next_ = 0;  // of order_: the first thread that has not begun
  int current_ = 0;
  int waiting_ = 0;
  int finished_ = 0;
  int or_now_ = 0;
  int or_result_ = 0;
  Worker* running_ = nullptr;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
};

// A kernel that wants more dynamic shared memory than 48 KiB has to say so beforehand.
struct SharedLimits {
  std::mutex mutex;
  std::map<const void*, size_t> bytes;
};
SharedLimits& limits() {
  static SharedLimits limits;
  return limits;
}
size_t shared_limit(const void* kernel) {
  const std::lock_guard lock(limits().mutex);
  const auto found = limits().bytes.find(kernel);
  return found == limits().bytes.end() ? 48 << 10 : found->second;
}

// Only while a kernel runs are there threads of a block.
Runner& runner() {
  static thread_local Runner runner;
  return runner;
}

}  // namespace

Order order() { return order_now().load(); }
void set_order(Order order) { order_now().store(order); }

void* dynamic_shared() { return runner().shared(); }
int lane() { return runner().lane(); }
const LaneValue* exchange(unsigned mask, const LaneValue& value) {
  return runner().exchange(mask, value);
}

void allow_dynamic_shared(const void* kernel, int bytes) {
  const std::lock_guard lock(limits().mutex);
  limits().bytes[kernel] = static_cast<size_t>(bytes);
}

cudaError_t run_grid(const cudaLaunchConfig_t& config, const void* kernel,
                     void (*body)(const void*), const void* context) {
  const dim3& grid = config.gridDim;
  const dim3& block = config.blockDim;
  constexpr unsigned most_threads = 1024;
  constexpr unsigned most_blocks = 65535;  // in y and z
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > most_threads || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.x > 0x7fffffff || grid.y > most_blocks || grid.z > most_blocks ||
      config.dynamicSmemBytes > shared_limit(kernel)) {
    return cudaErrorInvalidConfiguration;
  }
  const auto blocks = static_cast<int64_t>(uint64_t{grid.x} * grid.y * grid.z);
  const std::vector<int64_t> blocks_in_order = sequence(blocks, 0);
  {
    const DeviceAccess access;
    parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto n = static_cast<uint64_t>(blocks_in_order[static_cast<size_t>(i)]);
        runner().run(config,
                     {static_cast<unsigned>(n % grid.x), static_cast<unsigned>(n / grid.x % grid.y),
                      static_cast<unsigned>(n / grid.x / grid.y)},
                     body, context);
      }
    });
  }
  check_bounds();
  return cudaSuccess;
}

}  // namespace heed::emulator

void __syncthreads() { heed::emulator::runner().barrier(0); }
int __syncthreads_or(int predicate) { return heed::emulator::runner().barrier(predicate); }
