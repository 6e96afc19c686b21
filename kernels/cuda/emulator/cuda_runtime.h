#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/export.h"

// What heed uses of the CUDA runtime, for a plain C++ compiler: the same .cu sources then run on an
// emulated device, slow but strict (docs/cuda.md). Names and meanings are the CUDA runtime's.

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
// A block runs on one thread of the system.
#define __shared__ static thread_local

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
};

// --- inside a kernel ---

HEED_EXPORT extern constinit thread_local uint3 threadIdx;
HEED_EXPORT extern constinit thread_local uint3 blockIdx;
HEED_EXPORT extern constinit thread_local dim3 blockDim;
HEED_EXPORT extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

HEED_EXPORT void __syncthreads();
// True for every thread when the predicate is for one of them.
HEED_EXPORT int __syncthreads_or(int predicate);

namespace heed::emulator {

// The block's dynamic shared memory.
HEED_EXPORT void* dynamic_shared();

// Publishes this lane's value, waits for the whole warp, and gives the values of all its lanes.
struct LaneValue {
  alignas(8) unsigned char bytes[8];
};
HEED_EXPORT const LaneValue* exchange(unsigned mask, const LaneValue& value);
HEED_EXPORT int lane();

template <typename T>
T read_lane(unsigned mask, T value, int source) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(LaneValue));
  LaneValue own{};
  std::memcpy(own.bytes, &value, sizeof(T));
  const LaneValue* all = exchange(mask, own);
  T result;
  std::memcpy(&result, all[source].bytes, sizeof(T));
  return result;
}

}  // namespace heed::emulator

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize) {
  const int own = heed::emulator::lane();
  const int source = own ^ lane_mask;
  return heed::emulator::read_lane(mask, value, source / width == own / width ? source : own);
}

// --- the host's side ---

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
};
HEED_EXPORT const char* cudaGetErrorString(cudaError_t error);

struct cudaDeviceProp {
  char name[256];
  int major, minor;
  size_t totalGlobalMem;
};
HEED_EXPORT cudaError_t cudaGetDeviceCount(int* count);
HEED_EXPORT cudaError_t cudaSetDevice(int device);
HEED_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
HEED_EXPORT cudaError_t cudaDriverGetVersion(int* version);
HEED_EXPORT cudaError_t cudaRuntimeGetVersion(int* version);

// Work is done by the time a call returns, but for copies from and to pinned memory: those wait
// until the stream or an event behind them is waited for, or something else comes behind them.
using cudaStream_t = struct EmulatedStream*;
inline constexpr unsigned cudaStreamNonBlocking = 1;
HEED_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
HEED_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream);

using cudaEvent_t = struct EmulatedEvent*;
inline constexpr unsigned cudaEventDisableTiming = 2;
HEED_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
HEED_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
HEED_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event);
HEED_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event);

enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3
};
HEED_EXPORT cudaError_t cudaMalloc(void** pointer, size_t bytes);
HEED_EXPORT cudaError_t cudaFree(void* pointer);
inline constexpr unsigned cudaHostAllocDefault = 0;
HEED_EXPORT cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags);
HEED_EXPORT cudaError_t cudaFreeHost(void* pointer);
HEED_EXPORT cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
HEED_EXPORT cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
HEED_EXPORT cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
HEED_EXPORT cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                                        cudaMemcpyKind kind, cudaStream_t stream);
HEED_EXPORT cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes,
                                        cudaStream_t stream);

using cudaMemPool_t = struct EmulatedPool*;
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4, cudaMemPoolAttrReservedMemCurrent = 5 };
HEED_EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
HEED_EXPORT cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                                void* value);
HEED_EXPORT cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute,
                                                void* value);
HEED_EXPORT cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);

struct cudaFuncAttributes {
  int numRegs;
};
HEED_EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
template <typename F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, F* kernel) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
namespace heed::emulator {
HEED_EXPORT void allow_dynamic_shared(const void* kernel, int bytes);
}
template <typename F>
cudaError_t cudaFuncSetAttribute(F* kernel, cudaFuncAttribute, int bytes) {
  if (bytes > 227 << 10) {
    return cudaErrorInvalidValue;
  }
  heed::emulator::allow_dynamic_shared(reinterpret_cast<const void*>(kernel), bytes);
  return cudaSuccess;
}

struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

namespace heed::emulator {

// Calls body(context) for every thread of every block.
HEED_EXPORT cudaError_t run_grid(const cudaLaunchConfig_t& config, const void* kernel,
                                 void (*body)(const void*), const void* context);

}  // namespace heed::emulator

template <typename... P, typename... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...),
                               A&&... arguments) {
  // Each thread has parameters of its own, as on a card.
  const std::pair<void (*)(P...), std::tuple<P...>> call{
      kernel, std::tuple<P...>(std::forward<A>(arguments)...)};
  return heed::emulator::run_grid(
      *config, reinterpret_cast<const void*>(kernel),
      [](const void* context) {
        const auto& [f, parameters] = *static_cast<const decltype(call)*>(context);
        std::apply(f, parameters);
      },
      &call);
}
