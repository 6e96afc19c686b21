#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/export.h"
#include "core/safetensors.h"
#include "kernels/backend.h"
#include "train/config/config.h"

namespace heed::train {

// Changes parameters by their gradients. Parameters without a gradient are left alone. The state
// of each is kept by the parameter's name, so that it can be saved and found again.
class HEED_EXPORT Optimizer {
 public:
  Optimizer(const TrainConfig& config, std::vector<NamedTensor> parameters)
      : parameters_(std::move(parameters)),
        weight_decay_(config.weight_decay),
        decay_vectors_(config.decay_vectors) {}
  virtual ~Optimizer() = default;

  // One update with this learning rate, by gradients times gradient_scale, an f64 scalar on the
  // parameters' device; steps are counted for the bias correction of Adam. Where the scale is NaN
  // nothing changes, and whoever learns of it later calls forget_step().
  void step(double learning_rate, const Tensor& gradient_scale);
  void step(double learning_rate);  // by the gradients as they are
  void forget_step() { --steps_; }
  int64_t steps() const { return steps_; }

  // What state() takes once there is one.
  int64_t state_bytes() const;

  // "NAME of a state/parameter" and the step count, to be saved; and back. Throws InputError when
  // the state does not fit.
  std::vector<NamedTensor> state() const;
  void load_state(const TensorFile& file, int64_t steps);

 protected:
  // Its first and, where there is one, second state of each parameter.
  virtual std::vector<std::string> state_names() const = 0;
  virtual void update(const std::vector<kernels::Updated>& parameters, double learning_rate,
                      const Tensor& gradient_scale, double weight_decay) = 0;

 private:
  void make_states();

  std::vector<NamedTensor> parameters_;
  std::vector<std::vector<Tensor>> states_;  // made at first use
  double weight_decay_;
  bool decay_vectors_;
  int64_t steps_ = 0;
};

// As the config says: sgd, adam, adamw or adadelta.
HEED_EXPORT std::unique_ptr<Optimizer> make_optimizer(const TrainConfig& config,
                                                      std::vector<NamedTensor> parameters);

}  // namespace heed::train
