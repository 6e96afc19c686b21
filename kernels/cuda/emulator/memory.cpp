#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/emulator/cuda_runtime.h"
#include "kernels/cuda/emulator/emulator.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes) static_cast<void>(0)
#endif

// Device memory is one range of addresses that can be touched only while a DeviceAccess stands, and
// a second range of the same memory that the emulator itself uses. Around each allocation lie bytes
// that nobody may read or write; they, memory not written yet and memory that was freed hold 0xff:
// NaN as a number, -1 as an id.
namespace heed::emulator {
namespace {

constexpr size_t alignment = 256;
constexpr size_t guard = 256;  // bytes after an allocation; those before it belong to the last one
constexpr size_t page = 4096;
constexpr size_t device_bytes = size_t{8} << 30;
constexpr size_t most_kept = size_t{4} << 20;  // of a freed block
constexpr int unknown = 0xff;

class Memory {
 public:
  Memory() {
    const int file = memfd_create("device memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, device_bytes) != 0) {
      fail("no memory for the device");
    }
    begin_ = map(file, PROT_NONE);
    view_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
    end_ = begin_;
  }

  // Where the emulator reaches what lies at a device pointer.
  char* view(const void* pointer) const {
    return view_ + (static_cast<const char*>(pointer) - begin_);
  }

  void open() {
    const std::lock_guard lock(mutex_);
    if (openings_++ == 0) {
      protect(PROT_READ | PROT_WRITE);
    }
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--openings_ == 0) {
      protect(PROT_NONE);
    }
  }

  // nullptr when there is no more.
  void* allocate(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const size_t room = room_of(bytes);
    char* block = nullptr;
    std::vector<char*>& free_blocks = free_[room];
    if (!free_blocks.empty()) {
      block = free_blocks.back();
      free_blocks.pop_back();
    } else if (static_cast<size_t>(begin_ + device_bytes - end_) >= room) {
      block = end_;
      end_ += room;
      if (openings_ > 0) {
        protect(PROT_READ | PROT_WRITE);
      }
    } else {
      return nullptr;
    }
    ASAN_UNPOISON_MEMORY_REGION(block, room);
    std::memset(view(block), unknown, room);
    ASAN_POISON_MEMORY_REGION(block + bytes, room - bytes);
    used_[block] = bytes;
    return block;
  }

  bool release(void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto block = used_.find(static_cast<char*>(pointer));
    if (block == used_.end()) {
      return false;
    }
    check(block->first, block->second);
    const size_t room = room_of(block->second);
    give_back(block->first, room);
    ASAN_POISON_MEMORY_REGION(block->first, room);
    free_[room].push_back(block->first);
    used_.erase(block);
    return true;
  }

  // Of many allocations some at a time; each is checked when it is freed in any case.
  void check_some() {
    constexpr size_t most_at_once = 256;
    const std::lock_guard lock(mutex_);
    auto block = used_.lower_bound(next_checked_);
    for (size_t i = 0; i < std::min(most_at_once, used_.size()); ++i, ++block) {
      block = block == used_.end() ? used_.begin() : block;
      check(block->first, block->second);
    }
    next_checked_ = block == used_.end() ? nullptr : block->first;
  }

  bool contains(const void* pointer, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto* const at = static_cast<const char*>(pointer);
    auto block = used_.upper_bound(const_cast<char*>(at));
    if (block == used_.begin()) {
      return false;
    }
    --block;
    return at + bytes <= block->first + block->second;
  }

  size_t reserved() {
    const std::lock_guard lock(mutex_);
    return static_cast<size_t>(end_ - begin_);
  }

 private:
  static char* map(int file, int access) {
    void* range = mmap(nullptr, device_bytes, access, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (range == MAP_FAILED) {
      fail("no address space for the device's memory");
    }
    return static_cast<char*>(range);
  }
  static size_t room_of(size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment + guard;
  }
  void protect(int access) {
    const auto bytes = static_cast<size_t>(end_ - begin_);
    if (bytes > 0 && mprotect(begin_, (bytes + page - 1) / page * page, access) != 0) {
      fail("the device's memory cannot be protected");
    }
  }
  // What was freed is unknown again. But opening and closing takes time by the page, so the whole
  // pages of the largest blocks go back to the system, and read 0.
  void give_back(char* block, size_t room) {
    std::memset(view(block), unknown, room);
    if (room > most_kept) {
      const auto first = (static_cast<size_t>(block - begin_) + page - 1) / page * page;
      const auto last = (static_cast<size_t>(block - begin_) + room) / page * page;
      static_cast<void>(madvise(view_ + first, last - first, MADV_REMOVE));
    }
  }
  // Under AddressSanitizer the access itself was caught.
  void check([[maybe_unused]] const char* block, [[maybe_unused]] size_t bytes) const {
#ifndef __SANITIZE_ADDRESS__
    const std::string_view around(view(block + bytes), room_of(bytes) - bytes);
    if (around != std::string_view(untouched_).substr(0, around.size())) {
      fail("a kernel wrote past the end of an allocation of " + std::to_string(bytes) + " bytes");
    }
#endif
  }

  std::mutex mutex_;
  char* begin_ = nullptr;
  char* end_ = nullptr;  // of what was handed out so far
  char* view_ = nullptr;
  const std::string untouched_ = std::string(alignment + guard, static_cast<char>(unknown));
  char* next_checked_ = nullptr;
  int openings_ = 0;
  std::map<char*, size_t> used_;
  std::map<size_t, std::vector<char*>> free_;
};

// Never destroyed: tensors with static lifetime may outlive everything else.
Memory& memory() {
  static auto* const memory = new Memory;
  return *memory;
}

}  // namespace

void fail(std::string_view what) {
  std::fprintf(stderr, "[emulator] %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

DeviceAccess::DeviceAccess() {
  catch_up();
  memory().open();
}
DeviceAccess::~DeviceAccess() { memory().close(); }

void check_bounds() { memory().check_some(); }
bool on_device(const void* pointer, size_t bytes) { return memory().contains(pointer, bytes); }

}  // namespace heed::emulator

using heed::emulator::memory;

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  *pointer = memory().allocate(bytes);
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  heed::emulator::catch_up();
  return pointer == nullptr || memory().release(pointer) ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  const bool to_device = kind != cudaMemcpyDeviceToHost;
  const bool from_device = kind != cudaMemcpyHostToDevice;
  if (bytes == 0) {
    return cudaSuccess;
  }
  if (heed::emulator::on_device(to, bytes) != to_device ||
      heed::emulator::on_device(from, bytes) != from_device) {
    return cudaErrorInvalidValue;
  }
  const auto copy = [=, view = to_device ? memory().view(to) : to] {
    std::memmove(view, from_device ? memory().view(from) : from, bytes);
  };
  if (heed::emulator::is_pinned(to_device ? from : to, bytes)) {
    heed::emulator::put_off(copy);
  } else {
    heed::emulator::catch_up();
    copy();
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t result = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  heed::emulator::catch_up();
  return result;
}
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t) {
  if (!heed::emulator::on_device(pointer, bytes)) {
    return cudaErrorInvalidValue;
  }
  heed::emulator::catch_up();
  std::memset(memory().view(pointer), value, bytes);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {
  *static_cast<uint64_t*>(value) = memory().reserved();
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
