#include "kernels/cpu/cpu_backend.h"

#include <cblas.h>

#include <fstream>
#include <string>

#include "core/threads.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown processor";
}

// "OpenBLAS 0.3.21": the configuration text goes on with build switches.
std::string blas_version() {
  const std::string config = openblas_get_config();
  return config.substr(0, config.find(' ', config.find(' ') + 1));
}

}  // namespace

// heed splits the rows of a product over its own threads and calls BLAS from each, so BLAS itself
// stays single-threaded: two pools on the same cores spin against each other.
CpuBackend::CpuBackend() { openblas_set_num_threads(1); }

std::string CpuBackend::description() const {
  const char* builds[] = {"sequential", "pthread", "OpenMP"};
  const int build = openblas_get_parallel();
  return fmt::format("{}, {} by Highway, {} ({}, {} build), {} thread{}", processor_name(),
                     vector_math::instruction_set(), blas_version(), openblas_get_corename(),
                     build >= 0 && build <= 2 ? builds[build] : "unknown", thread_count(),
                     thread_count() == 1 ? "" : "s");
}

}  // namespace heed::kernels
