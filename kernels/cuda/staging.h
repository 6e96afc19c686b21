#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

#include "core/memory.h"

namespace heed::kernels::cuda {

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) const;
  void wait() const;  // not at all for one that was never recorded

 private:
  cudaEvent_t event_ = nullptr;
};

// Memory of the host that the card copies to and from while the host goes on, which CUDA does not
// promise for pageable memory; and an event to record behind its last copy.
class PinnedMemory {
 public:
  explicit PinnedMemory(size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  const Event& copied() const { return copied_; }

 private:
  Event copied_;
  size_t bytes_;
  char* data_ = nullptr;
};

// The way of host memory to the card, through a ring of pinned parts that are filled one after the
// other. A part is filled again once its last copy is made, so the host waits only when it is
// nearly a whole ring ahead.
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
  size_t part_ = 0;
  size_t used_ = 0;  // of the part
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
