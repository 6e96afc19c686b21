#include "train/optimizer.h"

#include <vector>

#include "autograd/autograd.h"
#include "core/error.h"
#include "kernels/backend.h"

namespace heed::train {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const TrainConfig& config, std::vector<NamedTensor> parameters)
      : Optimizer(config, std::move(parameters)), step_{0, config.momentum, 0} {}

 private:
  std::vector<std::string> state_names() const override { return {"velocity"}; }
  void update(const std::vector<kernels::Updated>& parameters, double learning_rate,
              const Tensor& gradient_scale, double weight_decay) override {
    step_.learning_rate = learning_rate;
    step_.weight_decay = weight_decay;
    kernels::backend(parameters.front().p).sgd_step(step_, gradient_scale, parameters);
  }
  kernels::SgdStep step_;
};

class Adam final : public Optimizer {
 public:
  Adam(const TrainConfig& config, std::vector<NamedTensor> parameters, bool decoupled)
      : Optimizer(config, std::move(parameters)),
        step_{0, config.beta1, config.beta2, config.epsilon, 0, decoupled, 0} {}

 private:
  std::vector<std::string> state_names() const override { return {"m", "v"}; }
  void update(const std::vector<kernels::Updated>& parameters, double learning_rate,
              const Tensor& gradient_scale, double weight_decay) override {
    step_.learning_rate = learning_rate;
    step_.weight_decay = weight_decay;
    step_.step = steps();
    kernels::backend(parameters.front().p).adam_step(step_, gradient_scale, parameters);
  }
  kernels::AdamStep step_;
};

class Adadelta final : public Optimizer {
 public:
  Adadelta(const TrainConfig& config, std::vector<NamedTensor> parameters)
      : Optimizer(config, std::move(parameters)), step_{0, config.rho, config.epsilon, 0} {}

 private:
  std::vector<std::string> state_names() const override { return {"squares", "steps"}; }
  void update(const std::vector<kernels::Updated>& parameters, double learning_rate,
              const Tensor& gradient_scale, double weight_decay) override {
    step_.learning_rate = learning_rate;
    step_.weight_decay = weight_decay;
    kernels::backend(parameters.front().p).adadelta_step(step_, gradient_scale, parameters);
  }
  kernels::AdadeltaStep step_;
};

}  // namespace

void Optimizer::make_states() {
  if (!states_.empty()) {
    return;
  }
  for (const NamedTensor& parameter : parameters_) {
    std::vector<Tensor> states;
    for (size_t i = 0; i < state_names().size(); ++i) {
      states.push_back(Tensor::zeros(parameter.tensor.shape(), parameter.tensor.dtype(),
                                     parameter.tensor.device()));
    }
    states_.push_back(std::move(states));
  }
}

void Optimizer::step(double learning_rate) {
  if (!parameters_.empty()) {
    step(learning_rate, Tensor::full({}, 1, DType::f64, parameters_.front().tensor.device()));
  }
}

void Optimizer::step(double learning_rate, const Tensor& gradient_scale) {
  make_states();
  ++steps_;
  // A device takes many parameters in one launch, those that decay and those that do not.
  std::vector<kernels::Updated> decaying;
  std::vector<kernels::Updated> others;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor;
    const Tensor grad = gradient(parameter);
    if (grad.defined()) {
      const std::vector<Tensor>& states = states_[i];
      (decay_vectors_ || parameter.rank() > 1 ? decaying : others)
          .push_back({parameter, grad, states[0], states.size() > 1 ? states[1] : Tensor()});
      parameter.bump_version();
    }
  }
  if (!decaying.empty()) {
    update(decaying, learning_rate, gradient_scale, weight_decay_);
  }
  if (!others.empty()) {
    update(others, learning_rate, gradient_scale, 0);
  }
}

int64_t Optimizer::state_bytes() const {
  int64_t bytes = 0;
  for (const NamedTensor& parameter : parameters_) {
    bytes += parameter.tensor.numel() * dtype_size(parameter.tensor.dtype());
  }
  return bytes * static_cast<int64_t>(state_names().size());
}

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> all;
  for (size_t i = 0; i < states_.size(); ++i) {
    for (size_t s = 0; s < states_[i].size(); ++s) {
      all.push_back({state_names()[s] + "/" + parameters_[i].name, states_[i][s]});
    }
  }
  return all;
}

void Optimizer::load_state(const TensorFile& file, int64_t steps) {
  steps_ = steps;
  if (steps == 0) {
    return;
  }
  make_states();
  for (size_t i = 0; i < states_.size(); ++i) {
    for (size_t s = 0; s < states_[i].size(); ++s) {
      const std::string name = state_names()[s] + "/" + parameters_[i].name;
      const Tensor& saved = file.at(name);
      HEED_CHECK_INPUT(
          saved.shape() == states_[i][s].shape() && saved.dtype() == states_[i][s].dtype(),
          "optimizer", "the saved state {} does not fit: {} {}, {} {} is expected", name,
          dtype_name(saved.dtype()), saved.shape().to_string(), dtype_name(states_[i][s].dtype()),
          states_[i][s].shape().to_string());
      states_[i][s] = saved;
    }
  }
}

std::unique_ptr<Optimizer> make_optimizer(const TrainConfig& config,
                                          std::vector<NamedTensor> parameters) {
  if (config.optimizer == "sgd") {
    return std::make_unique<Sgd>(config, std::move(parameters));
  }
  if (config.optimizer == "adadelta") {
    return std::make_unique<Adadelta>(config, std::move(parameters));
  }
  HEED_ASSERT(config.optimizer == "adam" || config.optimizer == "adamw", "{}", config.optimizer);
  return std::make_unique<Adam>(config, std::move(parameters), config.optimizer == "adamw");
}

}  // namespace heed::train
