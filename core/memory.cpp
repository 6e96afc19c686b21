#include "core/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/error.h"

namespace heed {
namespace {

// Size classes: four to a power of two, in whole alignments of 64 bytes as aligned_alloc wants, so
// at most a quarter is wasted from 256 bytes on.
struct SizeClass {
  size_t index;
  size_t bytes;
};

SizeClass size_class(size_t bytes) {
  constexpr size_t smallest = 64;
  if (bytes <= smallest) {
    return {0, smallest};
  }
  const size_t power = std::bit_floor(bytes - 1);
  const size_t quarter = power / 4;
  const size_t step = (bytes - 1 - power) / quarter + 1;  // 1..4
  const auto exponent = static_cast<size_t>(std::countr_zero(power) - 6);
  const size_t rounded = (power + step * quarter + smallest - 1) / smallest * smallest;
  return {exponent * 4 + step, rounded};
}

// Here all is done at once.
class CpuReadback final : public Readback {
 public:
  explicit CpuReadback(size_t bytes) : copy_(bytes) {}

  void begin(const void* device, size_t bytes) override {
    HEED_ASSERT(bytes <= copy_.size(), "{} of {}", bytes, copy_.size());
    std::memcpy(copy_.data(), device, bytes);
  }
  const void* wait() override { return copy_.data(); }

 private:
  std::vector<std::byte> copy_;
};

class CpuMemory final : public DeviceMemory {
 public:
  void* allocate(size_t bytes) override {
    const SizeClass block = size_class(bytes);
    const std::lock_guard lock(mutex_);
    auto& free_list = free_[block.index];
    void* pointer = nullptr;
    if (!free_list.empty()) {
      pointer = free_list.back();
      free_list.pop_back();
    } else {
      pointer = system_allocate(block.bytes);
    }
    statistics_.in_use += static_cast<int64_t>(block.bytes);
    statistics_.peak_in_use = std::max(statistics_.peak_in_use, statistics_.in_use);
    return pointer;
  }

  void deallocate(void* pointer, size_t bytes) noexcept override {
    const SizeClass block = size_class(bytes);
    const std::lock_guard lock(mutex_);
    statistics_.in_use -= static_cast<int64_t>(block.bytes);
    auto& free_list = free_[block.index];
    try {
      free_list.push_back(pointer);
    } catch (const std::bad_alloc&) {
      std::free(pointer);
      statistics_.reserved -= static_cast<int64_t>(block.bytes);
    }
  }

  void copy_from_host(void* device, const void* host, size_t bytes) override {
    if (bytes > 0) {
      std::memcpy(device, host, bytes);
    }
  }
  void copy_to_host(void* host, const void* device, size_t bytes) override {
    copy_from_host(host, device, bytes);
  }
  std::unique_ptr<Readback> make_readback(size_t bytes) override {
    return std::make_unique<CpuReadback>(bytes);
  }
  void zero(void* device, size_t bytes) override { std::memset(device, 0, bytes); }

  MemoryStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }
  void reset_peak() override {
    const std::lock_guard lock(mutex_);
    statistics_.peak_in_use = statistics_.in_use;
  }

 private:
  void* system_allocate(size_t bytes) {
    ++statistics_.system_calls;
    void* pointer = std::aligned_alloc(64, bytes);
    if (pointer == nullptr) {
      release_cache();
      pointer = std::aligned_alloc(64, bytes);
    }
    HEED_CHECK(pointer != nullptr, "memory",
               "no more memory: {} bytes asked for, {} in use; a smaller batch or model needs less",
               bytes, statistics_.in_use);
    statistics_.reserved += static_cast<int64_t>(bytes);
    return pointer;
  }

  void release_cache() {
    for (auto& free_list : free_) {
      for (void* pointer : free_list) {
        std::free(pointer);
      }
      free_list.clear();
    }
    statistics_.reserved = statistics_.in_use;
  }

  mutable std::mutex mutex_;
  std::array<std::vector<void*>, 256> free_;
  MemoryStatistics statistics_;
};

// By index of the card.
std::array<std::atomic<DeviceMemory*>, 64> cards{};

}  // namespace

DeviceMemory& device_memory(Device device) {
  if (device.kind == DeviceKind::cpu) {
    // Never destroyed: tensors with static lifetime may outlive everything else.
    static auto* const memory = new CpuMemory;
    return *memory;
  }
  const auto card = static_cast<size_t>(device.index);
  DeviceMemory* const memory = card < cards.size() ? cards[card].load() : nullptr;
  HEED_CHECK_INPUT(memory != nullptr, "device",
                   "{} has no memory here: call kernels::backend(device) first, in a build "
                   "configured with -DHEED_CUDA=ON",
                   device_name(device));
  return *memory;
}

void register_device_memory(Device device, DeviceMemory& memory) {
  const auto card = static_cast<size_t>(device.index);
  HEED_ASSERT(device.kind == DeviceKind::cuda && card < cards.size(), "{}", device_name(device));
  cards[card] = &memory;
}

}  // namespace heed
