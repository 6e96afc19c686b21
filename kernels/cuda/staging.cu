#include "kernels/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "kernels/cuda/error.h"

namespace heed::kernels::cuda {

// Failures of what ends an object have nowhere to go; at the end of the program the card may be
// gone already.

Event::Event() { HEED_CUDA_CALL(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
Event::~Event() { static_cast<void>(cudaEventDestroy(event_)); }
void Event::record(cudaStream_t stream) const { HEED_CUDA_CALL(cudaEventRecord(event_, stream)); }
void Event::wait() const { HEED_CUDA_CALL(cudaEventSynchronize(event_)); }

PinnedMemory::PinnedMemory(size_t bytes) : bytes_(bytes) {
  void* memory = nullptr;
  HEED_CUDA_CALL(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault));
  data_ = static_cast<char*>(memory);
}
PinnedMemory::~PinnedMemory() { static_cast<void>(cudaFreeHost(data_)); }  // after its copies

Staging::Staging(cudaStream_t stream)
    : parts_{PinnedMemory(part_bytes), PinnedMemory(part_bytes), PinnedMemory(part_bytes),
             PinnedMemory(part_bytes)},
      stream_(stream) {}

void Staging::upload(void* device, const void* host, size_t bytes) {
  for (size_t begin = 0; begin < bytes;) {
    if (used_ == part_bytes) {
      parts_[part_].copied().record(stream_);
      part_ = (part_ + 1) % parts_.size();
      parts_[part_].copied().wait();
      used_ = 0;
    }
    const size_t count = std::min(part_bytes - used_, bytes - begin);
    char* staged = parts_[part_].data() + used_;
    std::memcpy(staged, static_cast<const char*>(host) + begin, count);
    HEED_CUDA_CALL(cudaMemcpyAsync(static_cast<char*>(device) + begin, staged, count,
                                   cudaMemcpyHostToDevice, stream_));
    begin += count;
    used_ += count;
  }
}

void CudaReadback::begin(const void* device, size_t bytes) {
  HEED_ASSERT(bytes <= memory_.bytes(), "{} of {}", bytes, memory_.bytes());
  HEED_CUDA_CALL(cudaMemcpyAsync(memory_.data(), device, bytes, cudaMemcpyDeviceToHost, stream_));
  memory_.copied().record(stream_);
}

const void* CudaReadback::wait() {
  memory_.copied().wait();
  return memory_.data();
}

}  // namespace heed::kernels::cuda
