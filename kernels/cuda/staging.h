#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

#include "core/memory.h"

namespace heed::kernels::cuda {

// Memory of the host that the card copies to and from while the host goes on, which CUDA does not
// promise for pageable memory, and the event behind its last copy.
class PinnedMemory {
 public:
  explicit PinnedMemory(size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  void record(cudaStream_t stream) const;
  void wait() const;

 private:
  size_t bytes_;
  void* data_ = nullptr;
  cudaEvent_t copied_ = nullptr;
};

// The way of host memory to the card, through a ring of pinned parts. A part is filled again once
// its last copy is made, so the host waits only when it is a whole ring ahead.
class Staging {
 public:
  explicit Staging(cudaStream_t stream);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // `host` may change as soon as this returns.
  void upload(void* device, const void* host, size_t bytes);

 private:
  static constexpr size_t part_bytes = size_t{1} << 20;

  std::array<PinnedMemory, 4> parts_;
  size_t next_ = 0;
  cudaStream_t stream_;
};

class CudaReadback final : public Readback {
 public:
  CudaReadback(cudaStream_t stream, size_t bytes) : memory_(bytes), stream_(stream) {}

  void begin(const void* device, size_t bytes) override;
  const void* wait() override;

 private:
  PinnedMemory memory_;
  cudaStream_t stream_;
};

}  // namespace heed::kernels::cuda
