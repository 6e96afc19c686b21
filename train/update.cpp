#include "train/update.h"

#include <algorithm>
#include <cmath>

#include "autograd/autograd.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/logging.h"

namespace heed::train {

Updater::Updater(const TrainConfig& config, Task& task)
    : config_(config),
      task_(task),
      parameters_(task.module().named_parameters()),
      optimizer_(make_optimizer(config, parameters_)) {}

Updater::Outcome Updater::update(TrainingState& state, int64_t batches, double learning_rate) {
  const int64_t position = state.position;
  const RandomState dropout = default_generator().state();
  Outcome outcome;
  std::string wrong;
  try {
    outcome = sum_gradients(state, batches);
  } catch (const Stopped&) {
    state.position = position;
    default_generator().set_state(dropout);
    task_.module().clear_gradients();
    throw;
  } catch (const NotFinite& op) {
    state.position = std::min(position + config_.accumulate, batches);
    wrong = op.what();
  }
  ++state.step;
  const double scale = 1.0 / static_cast<double>(std::max<int64_t>(outcome.tokens, 1));
  outcome.gradient_norm = gradient_norm(parameters_) * scale;
  if (wrong.empty() && !(std::isfinite(outcome.loss) && std::isfinite(outcome.gradient_norm))) {
    wrong = fmt::format("the {} is not finite{}", std::isfinite(outcome.loss) ? "gradient" : "loss",
                        first_bad_gradient());
  }
  if (wrong.empty()) {
    const double norm = outcome.gradient_norm;
    const double clip = config_.clip_norm;
    optimizer_->step(learning_rate, clip > 0 && norm > clip ? scale * clip / norm : scale);
    state.skipped_in_a_row = 0;
    outcome.applied = true;
  }
  task_.module().clear_gradients();
  if (outcome.tokens == 0 && wrong.empty()) {
    log::warning("train", "step {}: its batches hold no token; the loss counts as 0", state.step);
  }
  if (!wrong.empty()) {
    skip(state, fmt::format("step {}: {}", state.step, wrong));
  }
  return outcome;
}

Updater::Outcome Updater::sum_gradients(TrainingState& state, int64_t batches) const {
  Outcome sum;
  for (int64_t i = 0; i < config_.accumulate && state.position < batches; ++i) {
    check_stop();
    const BatchLoss batch = task_.loss(state.position++);
    backward(batch.loss);
    sum.loss += batch.loss.item();  // not before: the host waits for a device here
    sum.nll += batch.nll.item();
    sum.tokens += batch.tokens;
  }
  return sum;
}

void Updater::skip(TrainingState& state, const std::string& what) const {
  HEED_CHECK(config_.nonfinite == "skip", "train",
             "{}; the step was not applied. Lower train.learning_rate{}", what,
             check_finite() ? "" : ", or find the op with --check-finite");
  HEED_CHECK(state.skipped_in_a_row < config_.nonfinite_limit, "train",
             "{}; {} updates in a row were skipped before it, train.nonfinite_limit allows no more",
             what, state.skipped_in_a_row);
  ++state.skipped_in_a_row;
  log::warning("train", "{}; skipped", what);
}

std::string Updater::first_bad_gradient() const {
  for (const NamedTensor& parameter : parameters_) {
    if (!std::isfinite(gradient_norm({parameter}))) {
      return fmt::format("; the first parameter with such a gradient is {}", parameter.name);
    }
  }
  return "";
}

}  // namespace heed::train
