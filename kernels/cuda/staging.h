#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

namespace heed::kernels::cuda {

// The way of host memory to the card, through a ring of pinned parts: from there a copy runs while
// the host goes on, which CUDA does not promise for pageable memory. A part is filled again once
// the event behind its last copy has come, so the host waits only when it is a whole ring ahead.
class Staging {
 public:
  explicit Staging(cudaStream_t stream);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // `host` may change as soon as this returns.
  void upload(void* device, const void* host, size_t bytes);

 private:
  static constexpr size_t part_bytes = size_t{1} << 20;

  struct Part {
    void* memory = nullptr;
    cudaEvent_t copied = nullptr;
  };
  std::array<Part, 4> parts_;
  size_t next_ = 0;
  cudaStream_t stream_;
};

}  // namespace heed::kernels::cuda
