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
  std::optional<Outcome> before;
  Given given;
  try {
    given = sum_gradients(state, batches);
    before = settle(state);
  } catch (...) {
    state.position = position;
    default_generator().set_state(dropout);
    task_.module().clear_gradients();
    throw;
  }
  given.outcome.step = ++state.step;
  given.outcome.learning_rate = learning_rate;
  if (given.wrong.empty()) {
    optimizer_->step(learning_rate, report_.gradient_scale(config_.clip_norm));
  }
  task_.module().clear_gradients();
  unsettled_ = std::move(given);
  return before;
}

std::optional<Updater::Outcome> Updater::settle(TrainingState& state) {
  if (!unsettled_) {
    return std::nullopt;
  }
  auto [outcome, wrong] = *std::exchange(unsettled_, std::nullopt);
  if (wrong.empty()) {
    outcome.numbers = report_.wait();
    if (!outcome.applied()) {
      optimizer_->forget_step();
      wrong = fmt::format("the {} is not finite",
                          std::isfinite(outcome.numbers.loss) ? "gradient" : "loss");
      if (const std::string& first = outcome.numbers.first_bad_parameter; !first.empty()) {
        wrong += fmt::format("; the first parameter with such a gradient is {}", first);
      }
    }
  }
  if (!outcome.applied()) {
    skip(state, fmt::format("step {}: {}", outcome.step, wrong));
    return outcome;
  }
  state.skipped_in_a_row = 0;
  if (outcome.tokens == 0) {
    log::warning("train", "step {}: its batches hold no token; the loss counts as 0", outcome.step);
  }
  return outcome;
}

Updater::Given Updater::sum_gradients(TrainingState& state, int64_t batches) {
  Given given;
  const int64_t end = std::min(state.position + config_.accumulate, batches);
  report_.begin();
  try {
    while (state.position < end) {
      check_stop();
      const BatchLoss batch = task_.loss(state.position++);
      backward(batch.loss);
      report_.add(batch);
      given.outcome.tokens += batch.tokens;
    }
  } catch (const NotFinite& op) {
    state.position = end;
    given.wrong = op.what();
  }
  return given;
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
