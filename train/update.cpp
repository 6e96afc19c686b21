#include "train/update.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/autograd.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/logging.h"

namespace heed::train {

Updater::Updater(const TrainConfig& config, Task& task)
    : config_(config),
      task_(task),
      parameters_(task.module().named_parameters()),
      optimizer_(make_optimizer(config, parameters_)),
      report_(parameters_) {}

std::optional<Updater::Outcome> Updater::update(TrainingState& state, int64_t batches,
                                                double learning_rate) {
  const int64_t position = state.position;
  const RandomState dropout = default_generator().state();
  Given given{state.step + 1, 0, ""};
  try {
    given.tokens = sum_gradients(state, batches);
  } catch (const Stopped&) {
    state.position = position;
    default_generator().set_state(dropout);
    task_.module().clear_gradients();
    throw;
  } catch (const NotFinite& op) {
    state.position = std::min(position + config_.accumulate, batches);
    given.wrong = op.what();
  }
  const std::optional<Outcome> before = settle(state);
  ++state.step;
  if (given.wrong.empty()) {
    optimizer_->step(learning_rate, report_.gradient_scale(config_.clip_norm));
  }
  task_.module().clear_gradients();
  unsettled_ = given;
  return before;
}

std::optional<Updater::Outcome> Updater::settle(TrainingState& state) {
  if (!unsettled_) {
    return std::nullopt;
  }
  Given given = *std::exchange(unsettled_, std::nullopt);
  Outcome outcome;
  outcome.tokens = given.tokens;
  if (given.wrong.empty()) {
    const UpdateReport::Numbers numbers = report_.wait();
    outcome.loss = numbers.loss;
    outcome.nll = numbers.nll;
    outcome.gradient_norm = numbers.gradient_norm;
    const bool finite_loss = std::isfinite(numbers.loss);
    outcome.applied = finite_loss && std::isfinite(numbers.gradient_norm);
    if (!outcome.applied) {
      optimizer_->forget_step();
      given.wrong = fmt::format("the {} is not finite", finite_loss ? "gradient" : "loss");
      if (!numbers.first_bad_parameter.empty()) {
        given.wrong += fmt::format("; the first parameter with such a gradient is {}",
                                   numbers.first_bad_parameter);
      }
    }
  }
  if (outcome.applied) {
    state.skipped_in_a_row = 0;
    if (outcome.tokens == 0) {
      log::warning("train", "step {}: its batches hold no token; the loss counts as 0", given.step);
    }
  } else {
    skip(state, fmt::format("step {}: {}", given.step, given.wrong));
  }
  return outcome;
}

int64_t Updater::sum_gradients(TrainingState& state, int64_t batches) {
  int64_t tokens = 0;
  report_.begin();
  for (int64_t i = 0; i < config_.accumulate && state.position < batches; ++i) {
    check_stop();
    const BatchLoss batch = task_.loss(state.position++);
    backward(batch.loss);
    report_.add(batch);
    tokens += batch.tokens;
  }
  return tokens;
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

}  // namespace heed::train
