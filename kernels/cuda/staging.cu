#include "kernels/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "kernels/cuda/error.h"

namespace heed::kernels::cuda {

PinnedMemory::PinnedMemory(size_t bytes) : bytes_(bytes) {
  HEED_CUDA_CALL(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault));
  HEED_CUDA_CALL(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming));
}

// A failure has nowhere to go; at the end of the program the card may be gone already.
PinnedMemory::~PinnedMemory() {
  static_cast<void>(cudaEventSynchronize(copied_));
  static_cast<void>(cudaEventDestroy(copied_));
  static_cast<void>(cudaFreeHost(data_));
}

void PinnedMemory::record(cudaStream_t stream) const {
  HEED_CUDA_CALL(cudaEventRecord(copied_, stream));
}

void PinnedMemory::wait() const { HEED_CUDA_CALL(cudaEventSynchronize(copied_)); }

Staging::Staging(cudaStream_t stream)
    : parts_{PinnedMemory(part_bytes), PinnedMemory(part_bytes), PinnedMemory(part_bytes),
             PinnedMemory(part_bytes)},
      stream_(stream) {}

void Staging::upload(void* device, const void* host, size_t bytes) {
  for (size_t begin = 0; begin < bytes; begin += part_bytes) {
    const size_t count = std::min(part_bytes, bytes - begin);
    const PinnedMemory& part = parts_[next_];
    next_ = (next_ + 1) % parts_.size();
    part.wait();
    std::memcpy(part.data(), static_cast<const char*>(host) + begin, count);
    HEED_CUDA_CALL(cudaMemcpyAsync(static_cast<char*>(device) + begin, part.data(), count,
                                   cudaMemcpyHostToDevice, stream_));
    part.record(stream_);
  }
}

void CudaReadback::begin(const void* device, size_t bytes) {
  HEED_ASSERT(bytes <= memory_.bytes(), "{} of {}", bytes, memory_.bytes());
  HEED_CUDA_CALL(cudaMemcpyAsync(memory_.data(), device, bytes, cudaMemcpyDeviceToHost, stream_));
  memory_.record(stream_);
}

const void* CudaReadback::wait() {
  memory_.wait();
  return memory_.data();
}

}  // namespace heed::kernels::cuda
