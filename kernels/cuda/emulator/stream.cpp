#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/cuda/emulator/cuda_runtime.h"
#include "kernels/cuda/emulator/emulator.h"

struct EmulatedEvent {
  uint64_t after;  // how many works had been put off when it was recorded
};

namespace heed::emulator {
namespace {

// What the one stream has put off, and the pinned memory that this is for.
struct Stream {
  std::mutex mutex;
  std::deque<std::function<void()>> works;
  uint64_t done = 0;
  std::map<const char*, size_t> pinned;

  void finish(uint64_t count) {
    for (; done < count; ++done) {
      works.front()();
      works.pop_front();
    }
  }
};

// Never destroyed, as the device's memory.
Stream& stream() {
  static auto* const stream = new Stream;
  return *stream;
}

}  // namespace

bool is_pinned(const void* pointer, size_t bytes) {
  const std::lock_guard lock(stream().mutex);
  const auto* const at = static_cast<const char*>(pointer);
  auto block = stream().pinned.upper_bound(at);
  if (block == stream().pinned.begin()) {
    return false;
  }
  --block;
  return at + bytes <= block->first + block->second;
}

void put_off(std::function<void()> work) {
  const std::lock_guard lock(stream().mutex);
  stream().works.push_back(std::move(work));
}

void catch_up() {
  const std::lock_guard lock(stream().mutex);
  stream().finish(stream().done + stream().works.size());
}

}  // namespace heed::emulator

using heed::emulator::stream;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* created, unsigned) {
  *created = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  heed::emulator::catch_up();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new EmulatedEvent{0};
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  const std::lock_guard lock(stream().mutex);
  event->after = stream().done + stream().works.size();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(stream().mutex);
  stream().finish(event->after);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  *pointer = std::malloc(bytes);
  if (*pointer == nullptr) {
    return cudaErrorMemoryAllocation;
  }
  const std::lock_guard lock(stream().mutex);
  stream().pinned[static_cast<char*>(*pointer)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* pointer) {
  heed::emulator::catch_up();
  const std::lock_guard lock(stream().mutex);
  if (stream().pinned.erase(static_cast<char*>(pointer)) == 0) {
    return cudaErrorInvalidValue;
  }
  std::free(pointer);
  return cudaSuccess;
}
