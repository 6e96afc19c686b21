#include "kernels/cuda/context.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/staging.h"

namespace heed::kernels::cuda {
namespace {

// CUDA's own stream-ordered pool does the caching; it is told to give nothing back.
class CudaMemory final : public DeviceMemory {
 public:
  CudaMemory(int index, cudaStream_t stream) : stream_(stream), staging_(stream) {
    HEED_CUDA_CALL(cudaDeviceGetDefaultMemPool(&pool_, index));
    uint64_t everything = UINT64_MAX;
    HEED_CUDA_CALL(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &everything));
  }

  void* allocate(size_t bytes) override {
    const std::lock_guard lock(mutex_);
    void* pointer = try_allocate(bytes);
    if (pointer == nullptr) {
      cudaStreamSynchronize(stream_);
      cudaMemPoolTrimTo(pool_, 0);
      pointer = try_allocate(bytes);
    }
    HEED_CHECK(pointer != nullptr, "memory",
               "the card has no more memory: {} bytes asked for, {} in use; a smaller batch or "
               "model needs less",
               bytes, statistics_.in_use);
    statistics_.in_use += static_cast<int64_t>(bytes);
    statistics_.peak_in_use = std::max(statistics_.peak_in_use, statistics_.in_use);
    const int64_t held = reserved();
    statistics_.system_calls += held > statistics_.reserved ? 1 : 0;
    statistics_.reserved = held;
    return pointer;
  }

  // A failure has nowhere to go: the next call reports it, and at the end of the program the card
  // may be gone already.
  void deallocate(void* pointer, size_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    statistics_.in_use -= static_cast<int64_t>(bytes);
    static_cast<void>(cudaFreeAsync(pointer, stream_));
  }

  void copy_from_host(void* device, const void* host, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    staging_.upload(device, host, bytes);
  }
  void copy_to_host(void* host, const void* device, size_t bytes) override {
    if (bytes > 0) {
      HEED_CUDA_CALL(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_));
      HEED_CUDA_CALL(cudaStreamSynchronize(stream_));
      const std::lock_guard lock(mutex_);
      ++statistics_.host_waits;
    }
  }
  std::unique_ptr<Readback> make_readback(size_t bytes) override {
    return std::make_unique<CudaReadback>(stream_, bytes);
  }
  void zero(void* device, size_t bytes) override {
    if (bytes > 0) {
      HEED_CUDA_CALL(cudaMemsetAsync(device, 0, bytes, stream_));
    }
  }

  MemoryStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }
  void reset_peak() override {
    const std::lock_guard lock(mutex_);
    statistics_.peak_in_use = statistics_.in_use;
  }

 private:
  void* try_allocate(size_t bytes) const {
    void* pointer = nullptr;
    const cudaError_t result = cudaMallocAsync(&pointer, std::max<size_t>(bytes, 1), stream_);
    if (result != cudaErrorMemoryAllocation) {
      HEED_CUDA_CALL(result);
    }
    return pointer;
  }
  int64_t reserved() const {
    uint64_t held = 0;
    HEED_CUDA_CALL(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &held));
    return static_cast<int64_t>(held);
  }

  mutable std::mutex mutex_;
  cudaStream_t stream_;
  cudaMemPool_t pool_ = nullptr;
  Staging staging_;
  MemoryStatistics statistics_;
};

std::string version_of(int cuda) { return fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10); }

// "7.5" for 75.
std::string capability_of(int architecture) {
  return fmt::format("{}.{}", architecture / 10, architecture % 10);
}

// What CMAKE_CUDA_ARCHITECTURES said, as numbers.
std::vector<int> built_architectures() {
  std::vector<int> result;
  std::istringstream words(HEED_CUDA_ARCHITECTURES);
  for (int one = 0; words >> one;) {
    result.push_back(one);
  }
  return result;
}

std::string built_for() {
  std::string text;
  for (const int one : built_architectures()) {
    text += (text.empty() ? "" : ", ") + capability_of(one);
  }
  return text;
}

// Stands for all kernels: they are built for the same cards.
__global__ void any_kernel() {}

void check_capability(const cudaDeviceProp& card) {
  constexpr int oldest = 75;
  const int own = 10 * card.major + card.minor;
  HEED_CHECK_INPUT(own >= oldest, "device",
                   "{} has capability {}, heed needs {}: take a newer card, or run on the cpu "
                   "(run.device = \"cpu\")",
                   card.name, capability_of(own), capability_of(oldest));
  cudaFuncAttributes attributes;
  HEED_CHECK_INPUT(cudaFuncGetAttributes(&attributes, any_kernel) == cudaSuccess, "device",
                   "{} has capability {}, and nothing in this build (for {}) runs on it: configure "
                   "with -DCMAKE_CUDA_ARCHITECTURES={}",
                   card.name, capability_of(own), built_for(), own);
}

std::optional<Context>& opened() {
  static std::optional<Context> context;
  return context;
}

}  // namespace

Card find_card(int index) {
  Card card{};
  card.index = index;
  HEED_CUDA_CALL(cudaRuntimeGetVersion(&card.runtime));
  HEED_CUDA_CALL(cudaDriverGetVersion(&card.driver));
  HEED_CHECK_INPUT(card.driver != 0, "device",
                   "cuda was asked for, but no NVIDIA driver is installed; install one, or run on "
                   "the cpu (run.device = \"cpu\")");
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  HEED_CHECK_INPUT(counted != cudaErrorInsufficientDriver, "device",
                   "the driver runs CUDA up to {}, this build uses {}: install a newer driver",
                   version_of(card.driver), version_of(card.runtime));
  HEED_CHECK_INPUT(counted == cudaSuccess && count > 0, "device",
                   "cuda was asked for, but there is no card ({}); look at nvidia-smi and "
                   "CUDA_VISIBLE_DEVICES, or run on the cpu (run.device = \"cpu\")",
                   cudaGetErrorString(counted));
  HEED_CHECK_INPUT(index < count, "device", "cuda:{} was asked for, but there {} {} card{}", index,
                   count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
  HEED_CUDA_CALL(cudaSetDevice(index));
  HEED_CUDA_CALL(cudaGetDeviceProperties(&card.properties, index));
  check_capability(card.properties);
  return card;
}

void check_precision(const cudaDeviceProp& card, Precision precision) {
  HEED_CHECK_INPUT(precision == Precision::float32 || card.major >= 8, "device",
                   "{} has capability {}.{}, tf32 and bf16 begin at 8.0: compute in float32 "
                   "(run.precision = \"float32\")",
                   card.name, card.major, card.minor);
}

// None of it is ever destroyed: tensors with static lifetime may outlive everything else.
void open_card(int index) {
  Context made{};
  made.card = find_card(index);
  HEED_CUDA_CALL(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
  HEED_CUDA_CALL(cublasCreate(&made.blas));
  HEED_CUDA_CALL(cublasSetStream(made.blas, made.stream));
  made.memory = new CudaMemory(index, made.stream);
  opened() = made;
  register_device_memory({DeviceKind::cuda, index}, *made.memory);
}

const Context& context() {
  HEED_ASSERT(opened().has_value(), "no card was opened");
  return *opened();
}

cudaStream_t stream() { return context().stream; }

std::string describe(const Card& card) {
  return fmt::format("{}, capability {}.{}, {} MiB, CUDA {} (driver {}), built for {}",
                     card.properties.name, card.properties.major, card.properties.minor,
                     card.properties.totalGlobalMem >> 20, version_of(card.runtime),
                     version_of(card.driver), built_for());
}

}  // namespace heed::kernels::cuda
