#include "train/machine.h"

#include "autograd/autograd.h"
#include "core/device.h"
#include "core/logging.h"
#include "core/threads.h"
#include "core/version.h"
#include "kernels/backend.h"
#include "kernels/precision.h"
#include "train/model_words.h"

namespace heed::train {

void configure_machine(const RunConfig& run) {
  const Device device = parse_device(run.device);
  kernels::set_precision(device, precision_of(run));  // throws when it is not there
  set_default_device(device);
  if (run.threads > 0) {
    set_thread_count(static_cast<int>(run.threads));
  }
  kernels::set_fused_kernels(run.fused);
  set_check_finite(run.check_finite);
}

void log_machine(const RunConfig& run) {
  log::info("run", "heed {} on {}", version(),
            kernels::backend(parse_device(run.device)).description());
}

}  // namespace heed::train
