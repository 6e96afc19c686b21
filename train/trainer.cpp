#include "train/trainer.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <new>

#include "core/error.h"
#include "core/file.h"
#include "core/file_lock.h"
#include "core/interrupt.h"
#include "core/logging.h"
#include "train/branch.h"
#include "train/machine.h"
#include "train/metrics.h"
#include "train/pace.h"
#include "train/report/progress.h"
#include "train/run_log.h"
#include "train/streams.h"
#include "train/update.h"

namespace heed::train {

class Trainer::Impl {
 public:
  Impl(const Config& config, const RunFolder& folder, const RunFolder* branch_of)
      : config_(config), folder_(folder) {
    forget_stop_request();
    HEED_CHECK_INPUT(folder.exists() || !std::filesystem::exists(folder.path()), "run",
                     "{} is a file, a folder is expected: name another one with --run",
                     folder.path());
    configure_machine(config.run);
    folder.exists() ? take_lock() : folder.check_can_be_made();
    // The command that made a branch goes on with it.
    const bool branches = branch_of != nullptr && !folder.has_checkpoint();
    const std::optional<Checkpoint> saved =
        branches ? branch(*branch_of, folder, config) : latest(branch_of);
    if (saved) {
      state_ = saved->state;
      if (state_.steps_an_epoch > 0) {
        check_steps_ahead();
      }
    }
    log_machine(config.run);
    task_ = make_task(config, saved ? &*saved : nullptr);
    claim_folder();
    if (branches) {
      take_over_from(*branch_of);
    } else if (saved) {
      folder.tidy(*saved, config.train.keep_checkpoints);
    }
    log_.open(folder.log_path(), state_.step, state_.validation_due);
    if (!saved) {
      begin();
    }
    total_steps_ = count_steps();
    updater_.emplace(config.train, *task_);
    schedule_.emplace(config.train, total_steps_, config.model.width);
    if (saved) {
      restore(*saved);
    }
    warn_of_a_long_warmup();
    metrics_.emplace(folder.metrics_path(), state_.step, state_.validation_due);
    if (!state_.finished) {
      check_room();
    }
    // After whatever may refuse to start: a run keeps the config that it can be trained with.
    write_file("run", folder.config_path(), write_toml(config));
    if (!saved || branches) {
      save(Failure::stops);
    }
  }

  TrainingEnd run() {
    if (state_.finished) {
      const char* key = state_.step < total_steps_ ? "patience" : length_key();
      log::info("run", "{0} is finished, at step {1}; to go on: heed train {0} --set train.{2}=...",
                folder_.path(), state_.step, key);
      return TrainingEnd::finished;
    }
    pace_ = Pace(state_.step);
    try {
      while (!state_.finished) {
        run_epoch();
      }
    } catch (const Stopped&) {
      settle();
      progress_.finish();
      save_rest();
      log::info("run", "stopped at step {}; the same command goes on from here", state_.step);
      return TrainingEnd::interrupted;
    }
    progress_.finish();
    save_rest();
    const bool validated = state_.best_step >= 0;
    log::info("run", "finished at step {}{}", state_.step,
              validated ? fmt::format(", best by validation at step {}", state_.best_step) : "");
    return TrainingEnd::finished;
  }

  Task& task() { return *task_; }

 private:
  const TrainConfig& settings() const { return config_.train; }

  // The checkpoint to go on from, if there is one.
  std::optional<Checkpoint> latest(const RunFolder* branch_of) const {
    if (!folder_.has_checkpoint()) {
      return std::nullopt;
    }
    Checkpoint saved = folder_.load_latest();
    if (branch_of != nullptr) {
      check_origin(saved, *branch_of, folder_);
    }
    check_same_config(saved.config, config_, folder_.path(), branch_of != nullptr);
    return saved;
  }

  // Makes the folder; not before the corpora are read: a start that fails leaves nothing behind.
  void claim_folder() {
    folder_.create();
    if (!lock_) {
      take_lock();
      HEED_CHECK_INPUT(!folder_.has_checkpoint(), "run",
                       "another training has begun in {} meanwhile; the same command goes on with "
                       "it, or name another folder with --run",
                       folder_.path());
    }
  }

  void restore(const Checkpoint& saved) {
    updater_->optimizer().load_state(saved.optimizer, state_.optimizer_steps);
    schedule_->set_state(state_.schedule);
    default_generator().set_state(state_.dropout_random);
    state_.finished = !state_.validation_due && (state_.step >= total_steps_ || out_of_patience());
    if (!state_.finished) {
      log::info("run", "{} goes on from step {}", folder_.path(), state_.step);
    }
  }

  void warn_of_a_long_warmup() const {
    if (!state_.finished && settings().warmup_steps >= total_steps_) {
      log::warning(
          "train",
          "train.warmup_steps = {}, but the run ends at step {}: the learning rate is still "
          "rising then",
          settings().warmup_steps, total_steps_);
    }
  }

  void begin() {
    const int64_t seed = config_.run.seed;
    state_.epoch_random = generator_of(seed, Stream::shuffling).state();
    state_.steps_an_epoch = count_steps_an_epoch();
    default_generator().set_state(generator_of(seed, Stream::dropout).state());
    log::info("model", "{}: {} parameters", config_.model.kind, task_->module().parameter_count());
  }

  // A branch has its curve from the beginning, and an epoch of its own length.
  void take_over_from(const RunFolder& origin) {
    if (state_.steps_an_epoch == 0) {
      state_.steps_an_epoch = count_steps_an_epoch();
      check_steps_ahead();
    }
    if (std::filesystem::exists(origin.metrics_path())) {
      write_file("run", folder_.metrics_path(), read_file("run", origin.metrics_path()));
    }
  }

  // Of the epoch that state_.epoch_random begins.
  int64_t count_steps_an_epoch() const {
    Generator epoch(state_.epoch_random);
    const int64_t batches = task_->plan_epoch(epoch);
    return std::max<int64_t>(1, (batches + settings().accumulate - 1) / settings().accumulate);
  }

  int64_t count_steps() const {
    return settings().steps > 0 ? settings().steps : settings().epochs * state_.steps_an_epoch;
  }
  const char* length_key() const { return settings().steps > 0 ? "steps" : "epochs"; }

  // Throws InputError when the config ends before the step that the run has reached.
  void check_steps_ahead() const {
    const int64_t total = count_steps();
    const std::string asked =
        settings().steps > 0
            ? fmt::format("train.steps = {}", total)
            : fmt::format("train.epochs = {} ends at step {}", settings().epochs, total);
    HEED_CHECK_INPUT(state_.step <= total, "run",
                     "{}, {} is at step {} already; ask for more, or name another folder with "
                     "--run",
                     asked, folder_.path(), state_.step);
  }

  void take_lock() {
    lock_.emplace("run", folder_.lock_path());
    HEED_CHECK_INPUT(lock_->held(), "run",
                     "{} is being trained by {}; wait for its end or stop it, or name another "
                     "folder with --run",
                     folder_.path(), lock_->holder());
    folder_.remove_unfinished();
  }

  // From state_.position to the end of the epoch, or to the last step. Throws Stopped where a stop
  // was asked for, at a place that a save can go on from.
  void run_epoch() {
    if (state_.validation_due) {
      after_update();
      if (state_.finished) {
        return;
      }
    }
    Generator shuffle(state_.epoch_random);
    const int64_t batches = task_->plan_epoch(shuffle);
    do {
      learning_rate_ = schedule_->learning_rate(state_.step + 1);
      const auto before = updater_->update(state_, batches, learning_rate_);
      pace_.count(updater_->tokens_under_way());
      unsaved_ = true;
      if (best_before_) {  // the best weights could not be saved, and are gone now
        set_best(*best_before_);
        best_before_.reset();
      }
      take(before);
      if (state_.position >= batches) {
        state_.epoch_random = shuffle.state();
        ++state_.epoch;
        state_.position = 0;
      }
      if (state_.step % config_.run.log_every == 0 || at_last_step()) {
        log_window();
      }
      after_update();
    } while (!state_.finished && state_.position > 0);
  }

  bool at_last_step() const { return state_.step >= total_steps_; }

  // Before whatever looks at the weights or at what was counted of them.
  void settle() { take(updater_->settle(state_)); }

  void take(const std::optional<Updater::Outcome>& outcome) {
    if (!outcome) {
      return;
    }
    const UpdateReport::Numbers& numbers = outcome->numbers;
    if (outcome->applied()) {
      state_.window_loss += numbers.loss;
      state_.window_nll += numbers.nll;
      state_.window_tokens += outcome->tokens;
    }
    gradient_norm_ = numbers.gradient_norm;
    const double loss = numbers.loss / static_cast<double>(std::max<int64_t>(outcome->tokens, 1));
    progress_.update({outcome->step, total_steps_, epoch_of(outcome->step), loss,
                      outcome->learning_rate, pace_.tokens_per_second(),
                      pace_.seconds_left(state_.step, total_steps_)});
  }

  double epoch_of(int64_t step) const {
    return static_cast<double>(step) / static_cast<double>(state_.steps_an_epoch);
  }
  double epoch_now() const { return epoch_of(state_.step); }

  void log_window() {
    settle();
    // NaN when no update was applied: there is no loss to tell then.
    const auto tokens = static_cast<double>(state_.window_tokens);
    const double tokens_per_second = pace_.tokens_per_second();
    progress_.finish();
    const std::string nll = settings().label_smoothing > 0
                                ? fmt::format("  nll {:.4f}", state_.window_nll / tokens)
                                : "";
    const std::string loss = tokens > 0
                                 ? fmt::format("loss {:.4f}{}", state_.window_loss / tokens, nll)
                                 : "every update skipped";
    log::info("train",
              "step {}/{}  epoch {:.2f}  {}  lr {:.3g}  |g| {:.3g}  {:.0f} tokens/s  {:.0f} s left",
              state_.step, total_steps_, epoch_now(), loss, learning_rate_, gradient_norm_,
              tokens_per_second, pace_.seconds_left(state_.step, total_steps_));
    metrics_->write({"train",
                     state_.step,
                     epoch_now(),
                     {{"loss", state_.window_loss / tokens},
                      {"nll", state_.window_nll / tokens},
                      {"learning_rate", learning_rate_},
                      {"gradient_norm", gradient_norm_},
                      {"tokens_per_second", tokens_per_second}}});
    state_.window_loss = state_.window_nll = 0;
    state_.window_tokens = 0;
    pace_ = Pace(state_.step);
  }

  void after_update() {
    const bool last = at_last_step();
    const bool epoch_ends = state_.position == 0;
    const auto due = [&](int64_t every) {
      return last || (every > 0 ? state_.step % every == 0 : epoch_ends);
    };
    state_.validation_due = task_->has_validation() && due(settings().validate_every);
    const bool checkpoint_now =
        settings().checkpoint_every > 0
            ? state_.step % settings().checkpoint_every == 0
            : state_.validation_due || (!task_->has_validation() && epoch_ends);
    const bool validate_now = state_.validation_due;
    if (last || validate_now || checkpoint_now) {
      settle();
    }
    const bool is_best = validate_now && validate();
    state_.finished = last || (validate_now && out_of_patience());
    if (!state_.finished && (is_best || checkpoint_now)) {  // run() saves what is finished
      save(as_configured());
    }
    if (state_.finished && !last) {
      log::info("train", "no gain in {} validations: training ends early", settings().patience);
    }
  }

  bool out_of_patience() const {
    return settings().patience > 0 && state_.stale_validations >= settings().patience;
  }

  // A failure loses no update: going on begins with the validation that failed.
  [[noreturn]] void give_up_validation(const std::exception& failure) {
    const bool short_of_memory = dynamic_cast<const std::bad_alloc*>(&failure) != nullptr;
    const std::string what = fmt::format("[train] step {}: validation: {}", state_.step,
                                         short_of_memory ? "no more memory" : failure.what());
    try {
      save_rest();
    } catch (const Error& unsaved) {
      throw Error(fmt::format("{}; {}", what, unsaved.what()));
    }
    throw Error(
        what +
        "; the updates are saved, going on begins with this validation. Lower decode.batch_size "
        "where memory is short; where weights are not finite, train anew with a lower "
        "train.learning_rate");
  }

  Validation try_validation() {
    try {
      return task_->validate();
    } catch (const Stopped&) {
      throw;
    } catch (const std::exception& failure) {
      give_up_validation(failure);
    }
  }

  struct Best {
    double goodness, loss;
    int64_t step;  // -1: there is none

    bool beats(const Best& other) const {
      return other.step < 0 || goodness > other.goodness ||
             (goodness == other.goodness && loss < other.loss);
    }
  };
  Best best() const { return {state_.best, state_.best_loss, state_.best_step}; }
  void set_best(const Best& best) {
    state_.best = best.goodness;
    state_.best_loss = best.loss;
    state_.best_step = best.step;
  }

  // Returns whether this is the best so far.
  bool validate() {
    progress_.finish();
    const Validation result = try_validation();
    state_.validation_due = false;
    unsaved_ = true;
    std::string shown = fmt::format("step {}", state_.step);
    MetricsEvent event{"validation", state_.step, epoch_now(), {}};
    for (const Figure& figure : result.figures) {
      event.values.emplace_back(figure.name, figure.value);
      shown += figure.shown.empty() ? "" : "  " + figure.shown;
    }
    log::info("validation", "{}", shown);
    metrics_->write(event);
    for (const std::string& sample : result.samples) {
      log::info("sample", "{}", sample);
    }
    schedule_->after_validation(result.loss);
    state_.schedule = schedule_->state();
    pace_ = Pace(state_.step);
    const Best found{result.goodness, result.loss, state_.step};
    if (!std::isfinite(found.goodness) || !found.beats(best())) {
      ++state_.stale_validations;
      return false;
    }
    best_before_ = best();
    set_best(found);
    state_.stale_validations = 0;
    return true;
  }

  // What becomes of a run whose checkpoint cannot be written.
  enum class Failure { stops, is_warned_of };
  Failure as_configured() const {
    return settings().save_failure == "continue" ? Failure::is_warned_of : Failure::stops;
  }

  // What ends a run: a checkpoint of what none holds yet.
  void save_rest() {
    if (unsaved_) {
      save(Failure::stops);
    }
  }

  // Throws Error where a checkpoint that cannot be written stops the run.
  void save(Failure failure) {
    state_.dropout_random = default_generator().state();
    state_.optimizer_steps = updater_->optimizer().steps();
    Checkpoint checkpoint = task_->checkpoint();
    checkpoint.state = state_;
    checkpoint.optimizer.tensors = updater_->optimizer().state();
    try {
      metrics_->sync();
      folder_.save(checkpoint, best_before_.has_value(), settings().keep_checkpoints);
      unsaved_ = false;
      best_before_.reset();
    } catch (const Error& error) {
      if (failure == Failure::stops) {
        throw Error(fmt::format("{}; the run stops at step {}, what was saved before stands",
                                error.what(), state_.step));
      }
      log::warning("run", "step {} is not saved: {}", state_.step, error.what());
    }
  }

  // Before the first update, so that no work is lost to a full disk that could be seen coming.
  void check_room() {
    Checkpoint checkpoint = task_->checkpoint();
    const int64_t without_state = static_cast<int64_t>(encode_checkpoint(checkpoint).size());
    folder_.check_room(without_state + updater_->optimizer().state_bytes(),
                       std::min(settings().keep_checkpoints, most_checkpoints()));
  }

  // Those there are and those to come, at most: of the last step, where one is due, where a
  // validation finds the best.
  int64_t most_checkpoints() const {
    const int64_t left = total_steps_ - state_.step;
    const auto times = [&](int64_t every) {
      return left / (every > 0 ? every : state_.steps_an_epoch) + 1;
    };
    int64_t most = static_cast<int64_t>(folder_.checkpoint_steps().size()) + 1;
    if (settings().checkpoint_every > 0 || !task_->has_validation()) {
      most += times(settings().checkpoint_every);
    }
    return most + (task_->has_validation() ? times(settings().validate_every) : 0);
  }

  RunLog log_;
  Config config_;
  RunFolder folder_;
  std::optional<FileLock> lock_;
  TrainingState state_;
  std::unique_ptr<Task> task_;
  std::optional<Updater> updater_;
  std::optional<Schedule> schedule_;
  std::optional<MetricsFile> metrics_;
  Progress progress_{::isatty(STDERR_FILENO) != 0};
  bool unsaved_ = false;  // no checkpoint holds state_
  // The best on the disk, while that of state_ is not there yet.
  std::optional<Best> best_before_;
  int64_t total_steps_ = 0;
  double learning_rate_ = 0;
  double gradient_norm_ = 0;
  Pace pace_;  // of the present log line
};

Trainer::Trainer(const Config& config, const RunFolder& folder, const RunFolder* branch_of)
    : impl_(std::make_unique<Impl>(config, folder, branch_of)) {}
Trainer::~Trainer() = default;
TrainingEnd Trainer::run() { return impl_->run(); }
Task& Trainer::task() { return impl_->task(); }

}  // namespace heed::train
