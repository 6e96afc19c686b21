#include "kernels/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/error.h"

namespace heed::kernels::cuda {

// As long as the process: like the memory it serves, it is never given back.
Staging::Staging(cudaStream_t stream) : stream_(stream) {
  for (Part& part : parts_) {
    HEED_CUDA_CALL(cudaHostAlloc(&part.memory, part_bytes, cudaHostAllocDefault));
    HEED_CUDA_CALL(cudaEventCreateWithFlags(&part.copied, cudaEventDisableTiming));
  }
}

void Staging::upload(void* device, const void* host, size_t bytes) {
  for (size_t begin = 0; begin < bytes; begin += part_bytes) {
    const size_t count = std::min(part_bytes, bytes - begin);
    const Part& part = parts_[next_];
    next_ = (next_ + 1) % parts_.size();
    HEED_CUDA_CALL(cudaEventSynchronize(part.copied));
    std::memcpy(part.memory, static_cast<const char*>(host) + begin, count);
    HEED_CUDA_CALL(cudaMemcpyAsync(static_cast<char*>(device) + begin, part.memory, count,
                                   cudaMemcpyHostToDevice, stream_));
    HEED_CUDA_CALL(cudaEventRecord(part.copied, stream_));
  }
}

}  // namespace heed::kernels::cuda
