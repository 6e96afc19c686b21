#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <string>

#include "core/memory.h"
#include "kernels/precision.h"

// The card that this process uses, and what was set up on it.
namespace heed::kernels::cuda {

struct Card {
  int index;
  cudaDeviceProp properties;
  int driver;   // the newest CUDA it can run, 1000 major + 10 minor
  int runtime;  // the CUDA this build uses
};
// Throws InputError, with the remedy, when there is none that this build runs on.
Card find_card(int index);
// Throws InputError where the card lacks it.
void check_precision(const cudaDeviceProp& card, Precision precision);

struct Context {
  Card card;
  cudaStream_t stream;
  cublasHandle_t blas;
  DeviceMemory* memory;
};

// Chooses the card and sets it up; once for a process. Throws as find_card() does.
void open_card(int index);
const Context& context();

// "NVIDIA H100, capability 9.0, CUDA 13.0 (driver 13.0), built for 7.5, 8.0, 9.0"
std::string describe(const Card& card);

// Memory for the time of a call. What was launched before this goes may still use it: memory is
// given back in the order of the stream.
template <typename T>
class Scratch {
 public:
  explicit Scratch(int64_t count)
      : bytes_(static_cast<size_t>(count) * sizeof(T)),
        data_(static_cast<T*>(context().memory->allocate(bytes_))) {}
  ~Scratch() { context().memory->deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() const { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

}  // namespace heed::kernels::cuda
