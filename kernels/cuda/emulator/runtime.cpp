#include <cstdio>

#include "kernels/cuda/emulator/cuda_runtime.h"
#include "kernels/cuda/emulator/emulator.h"

namespace {

constexpr int runtime = 13000;

}  // namespace

namespace heed::emulator {

Machine& machine() {
  static Machine machine;
  return machine;
}

}  // namespace heed::emulator

using heed::emulator::machine;

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorNoKernelImageForDevice:
      return "no kernel image is available for execution on the device";
    case cudaErrorInvalidDevice:
      break;
  }
  return "invalid device ordinal";
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (machine().driver < runtime) {
    return cudaErrorInsufficientDriver;
  }
  *count = machine().cards;
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int device) {
  return device < machine().cards ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "emulated device");
  properties->major = machine().major;
  properties->minor = machine().minor;
  properties->totalGlobalMem = size_t{8} << 30;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = machine().driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = runtime;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  return machine().has_code ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}
