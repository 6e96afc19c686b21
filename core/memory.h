#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.h"
#include "core/export.h"

namespace heed {

struct MemoryStatistics {
  int64_t in_use = 0;        // bytes handed out now
  int64_t peak_in_use = 0;   // since the start or reset_peak
  int64_t reserved = 0;      // bytes held from the system: in use and cached
  int64_t system_calls = 0;  // how often the system was asked for memory
  // How often the host waited until a device had done all that it was given; of the cpu 0.
  int64_t host_waits = 0;
};

// A copy to the host that is made while the host goes on. For one thread at a time.
class HEED_EXPORT Readback {
 public:
  virtual ~Readback() = default;
  // Asks for what `device` holds once all is done that its device was given until now. At most as
  // many bytes as it was made for.
  virtual void begin(const void* device, size_t bytes) = 0;
  // The copy, until the next begin(). Waits for it alone, not for what the device was given since.
  virtual const void* wait() = 0;
};

// The memory of one device. Blocks are cached by size class, so that a training step asks the
// system for nothing once the first steps have warmed the cache. Thread-safe.
class HEED_EXPORT DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // At least `bytes`, aligned to 64. Throws Error when there is no more.
  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void* pointer, size_t bytes) noexcept = 0;
  // In the order of what the device is given. `host` may change as soon as this returns.
  virtual void copy_from_host(void* device, const void* host, size_t bytes) = 0;
  // Waits until the device has done all that it was given.
  virtual void copy_to_host(void* host, const void* device, size_t bytes) = 0;
  // For copies of at most `bytes`.
  virtual std::unique_ptr<Readback> make_readback(size_t bytes) = 0;
  virtual void zero(void* device, size_t bytes) = 0;
  virtual MemoryStatistics statistics() const = 0;
  virtual void reset_peak() = 0;
};

// Throws InputError for a device whose memory nobody registered.
HEED_EXPORT DeviceMemory& device_memory(Device device);
// Of a device other than the cpu, by what implements it (kernels::backend(device)); kept for good.
HEED_EXPORT void register_device_memory(Device device, DeviceMemory& memory);

}  // namespace heed
