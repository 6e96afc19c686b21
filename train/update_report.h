#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/export.h"
#include "core/memory.h"
#include "core/safetensors.h"
#include "train/task.h"

namespace heed::train {

// What the batches of an update cost and how large its gradients are, found on the parameters'
// device: the optimizer goes on by it at once, the host may look at it when the device has long
// been given the next batch.
class HEED_EXPORT UpdateReport {
 public:
  explicit UpdateReport(std::vector<NamedTensor> parameters);

  // Of a new update, whose batches are added one by one.
  void begin();
  void add(const BatchLoss& batch);
  // The factor by which the gradients, sums over all tokens so far, become those of the mean, of a
  // norm of at most `clip` where that is not 0: an f64 scalar on the device. NaN where the loss or
  // a gradient is not finite. Asks for what wait() returns.
  Tensor gradient_scale(double clip);

  struct Numbers {
    bool applied = false;    // the scale was one
    double loss = no_value;  // both summed over the tokens
    double nll = no_value;
    double gradient_norm = no_value;  // of the mean over tokens, before clipping
    std::string first_bad_parameter;  // with a gradient that is not finite; empty: there is none
  };
  // Of the last gradient_scale(), before the next gradient_scale(). Waits for its update, not for
  // what the device was given since.
  Numbers wait();

 private:
  static constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

  std::vector<NamedTensor> parameters_;
  int64_t tokens_ = 0;
  Tensor report_;
  std::vector<std::string> reported_;  // the parameters that had a gradient
  std::unique_ptr<Readback> readback_;
};

}  // namespace heed::train
