#include "train/trainer.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "autograd/functions.h"
#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"
#include "core/threads.h"
#include "core/version.h"
#include "kernels/backend.h"
#include "train/evaluation.h"
#include "train/report/progress.h"

namespace heed::train {
namespace {

std::atomic<bool> stop_requested{false};

// Streams of the run's seed.
enum Stream : uint64_t { initialization = 1, shuffling = 2, dropping = 3 };

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void configure_machine(const RunConfig& run) {
  static_cast<void>(kernels::backend(parse_device(run.device)));  // throws when it is not there
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

// Throws InputError listing every key whose change would break an exact continuation.
void check_same_config(const Config& saved, const Config& asked, const std::string& folder) {
  std::string refused;
  for (const ConfigDifference& difference : config_differences(saved, asked)) {
    if (!difference.resumable) {
      refused +=
          fmt::format("\n  {} was {}, now {}", difference.key, difference.before, difference.after);
    }
  }
  HEED_CHECK_INPUT(refused.empty(), "run",
                   "{} was begun with another config; name another folder with --run, or take the "
                   "change back:{}",
                   folder, refused);
}

}  // namespace

void request_stop() noexcept { stop_requested = true; }

class Trainer::Impl {
 public:
  Impl(const Config& config, const RunFolder& folder) : folder_(folder) {
    stop_requested = false;
    check_available(config);
    configure_machine(config.run);
    const bool resumed = folder.has_checkpoint();
    TensorFile saved_optimizer;
    if (resumed) {
      log::set_file(folder.log_path());
      Checkpoint checkpoint = folder.load_latest();
      check_same_config(checkpoint.translator.config, config, folder.path());
      translator_ = std::move(checkpoint.translator);
      state_ = checkpoint.state;
      saved_optimizer = std::move(checkpoint.file);
    }
    translator_.config = config;
    folder.create();
    log::set_file(folder.log_path());
    log_machine(config.run);
    load_data(resumed);
    if (!resumed) {
      begin();
    }
    parameters_ = translator_.model->named_parameters();
    total_steps_ = count_steps();
    optimizer_ = make_optimizer(config.train, parameters_);
    schedule_.emplace(config.train, total_steps_);
    write_file("run", folder.config_path(), write_toml(config));
    if (resumed) {
      optimizer_->load_state(saved_optimizer, state_.optimizer_steps);
      schedule_->set_state(state_.schedule);
      default_generator().set_state(state_.dropout_random);
      folder.point_at_step(state_.step, state_.best_step == state_.step);
      log::info("run", "{} goes on from step {}", folder.path(), state_.step);
    }
    state_.finished = state_.step >= total_steps_ || out_of_patience();
    metrics_.emplace(folder.metrics_path(), state_.step);
    if (!resumed) {
      save(false);
    }
  }

  TrainingEnd run() {
    if (state_.finished) {
      log::info("run", "{} is finished already, at step {}", folder_.path(), state_.step);
      return TrainingEnd::finished;
    }
    window_start_ = Clock::now();
    while (!state_.finished) {
      Generator shuffle(state_.epoch_random);
      const auto plan = data::plan_epoch(train_.examples, limits(), shuffle);
      if (run_epoch(plan) == TrainingEnd::interrupted) {
        progress_.finish();
        save(false);
        log::info("run", "stopped at step {}; the same command goes on from here", state_.step);
        return TrainingEnd::interrupted;
      }
    }
    progress_.finish();
    save(false);
    const bool validated = state_.best_step >= 0;
    log::info("run", "finished at step {}{}", state_.step,
              validated ? fmt::format(", best by validation at step {}", state_.best_step) : "");
    return TrainingEnd::finished;
  }

  Translator& translator() { return translator_; }

 private:
  const TrainConfig& config() const { return translator_.config.train; }

  data::BatchLimits limits() const {
    const DataConfig& data = translator_.config.data;
    return data.batch_tokens > 0 ? data::BatchLimits{INT32_MAX, data.batch_tokens}
                                 : data::BatchLimits{data.batch_size, 0};
  }

  void load_data(bool text_is_known) {
    const Config& all = translator_.config;
    data::PairCorpus train = load_corpus(all, all.data.train, data::Split::train);
    if (!text_is_known) {
      translator_.text = build_text(all, train);
    }
    train_ = encode_corpus(all, translator_.text, std::move(train), LengthFilter::apply);
    if (!all.data.validation.empty()) {
      validation_ = encode_corpus(all, translator_.text,
                                  load_corpus(all, all.data.validation, data::Split::validation),
                                  LengthFilter::keep_all);
    }
  }

  void begin() {
    const auto seed = static_cast<uint64_t>(translator_.config.run.seed);
    Generator initial(seed, Stream::initialization);
    translator_.model = make_translation_model(translator_.config, translator_.text, initial);
    state_.epoch_random = Generator(seed, Stream::shuffling).state();
    Generator first_epoch(state_.epoch_random);
    const auto batches =
        static_cast<int64_t>(data::plan_epoch(train_.examples, limits(), first_epoch).size());
    state_.steps_an_epoch =
        std::max<int64_t>(1, (batches + config().accumulate - 1) / config().accumulate);
    default_generator().set_state(Generator(seed, Stream::dropping).state());
    log::info("model", "{}: {} parameters", translator_.config.model.kind,
              translator_.model->parameter_count());
  }

  int64_t count_steps() const {
    return config().steps > 0 ? config().steps : config().epochs * state_.steps_an_epoch;
  }

  // From state_.position to the end of the epoch, or to the last step.
  TrainingEnd run_epoch(const std::vector<std::vector<size_t>>& plan) {
    while (state_.position < static_cast<int64_t>(plan.size())) {
      if (stop_requested.exchange(false)) {
        return TrainingEnd::interrupted;
      }
      update(plan);
      const bool last = state_.step >= total_steps_;
      const bool epoch_ends = state_.position >= static_cast<int64_t>(plan.size());
      if (epoch_ends) {
        Generator shuffle(state_.epoch_random);
        static_cast<void>(data::plan_epoch(train_.examples, limits(), shuffle));
        state_.epoch_random = shuffle.state();
        ++state_.epoch;
        state_.position = 0;
      }
      if (state_.step % translator_.config.run.log_every == 0 || last) {
        log_window();
      }
      after_update(epoch_ends, last);
      if (last || state_.finished) {
        state_.finished = true;
        return TrainingEnd::finished;
      }
      if (epoch_ends) {
        return TrainingEnd::finished;
      }
    }
    return TrainingEnd::finished;
  }

  // Gradients of up to `accumulate` batches, then one step of the optimizer. Losses are sums until
  // here, so that however the batch was split the update is the same.
  void update(const std::vector<std::vector<size_t>>& plan) {
    double loss = 0;
    double nll = 0;
    int64_t tokens = 0;
    const CrossEntropyOptions options{config().label_smoothing, data::Vocabulary::padding};
    for (int64_t i = 0;
         i < config().accumulate && state_.position < static_cast<int64_t>(plan.size()); ++i) {
      const data::PairBatch batch =
          data::make_batch(train_.examples, plan[static_cast<size_t>(state_.position++)]);
      const auto output =
          translator_.model->forward(source_of(batch), target_input_of(batch), false);
      const CrossEntropy sums = cross_entropy(output.logits, target_output_of(batch), options);
      loss += sums.loss.item();
      nll += sums.nll.item();
      tokens += batch.target_tokens;
      backward(sums.loss);
    }
    ++state_.step;
    const double scale = 1.0 / static_cast<double>(std::max<int64_t>(tokens, 1));
    const double norm = gradient_norm(parameters_) * scale;
    if (!std::isfinite(loss) || !std::isfinite(norm)) {
      handle_nonfinite(loss);
    } else {
      const double clip = config().clip_norm;
      scale_gradients(parameters_, clip > 0 && norm > clip ? scale * clip / norm : scale);
      learning_rate_ = schedule_->learning_rate(state_.step);
      optimizer_->step(learning_rate_);
      state_.window_loss += loss;
      state_.window_nll += nll;
      state_.window_tokens += tokens;
    }
    gradient_norm_ = norm;
    translator_.model->clear_gradients();
    window_seen_tokens_ += tokens;
    show_progress(loss * scale);
  }

  void handle_nonfinite(double loss) {
    std::string culprit;
    for (const NamedTensor& parameter : parameters_) {
      const Tensor grad = gradient(parameter.tensor);
      if (grad.defined() && !std::isfinite(gradient_norm({parameter}))) {
        culprit = fmt::format("; the first parameter with such a gradient is {}", parameter.name);
        break;
      }
    }
    const std::string what = fmt::format("step {}: the {} is not finite{}", state_.step,
                                         std::isfinite(loss) ? "gradient" : "loss", culprit);
    HEED_CHECK(config().nonfinite == "skip", "train",
               "{}; the step was not applied. Lower train.learning_rate, or find the op with "
               "--check-finite",
               what);
    log::warning("train", "{}; skipped", what);
  }

  void show_progress(double loss) {
    const double seconds = std::max(seconds_since(window_start_), 1e-9);
    const double rate = static_cast<double>(window_seen_tokens_) / seconds;
    const double per_step =
        seconds / static_cast<double>(std::max<int64_t>(1, state_.step - window_start_step_));
    progress_.update({state_.step, total_steps_, epoch_now(), loss, learning_rate_, rate,
                      per_step * static_cast<double>(total_steps_ - state_.step)});
  }

  double epoch_now() const {
    return static_cast<double>(state_.step) / static_cast<double>(state_.steps_an_epoch);
  }

  void log_window() {
    const auto tokens = static_cast<double>(std::max<int64_t>(state_.window_tokens, 1));
    const double seconds = std::max(seconds_since(window_start_), 1e-9);
    const double rate = static_cast<double>(window_seen_tokens_) / seconds;
    const double left =
        seconds / static_cast<double>(std::max<int64_t>(1, state_.step - window_start_step_)) *
        static_cast<double>(total_steps_ - state_.step);
    progress_.finish();
    log::info("train",
              "step {}/{}  epoch {:.2f}  loss {:.4f}  lr {:.3g}  |g| {:.3g}  {:.0f} tokens/s  "
              "{:.0f} s left",
              state_.step, total_steps_, epoch_now(), state_.window_loss / tokens, learning_rate_,
              gradient_norm_, rate, left);
    metrics_->write({"train",
                     state_.step,
                     epoch_now(),
                     {{"loss", state_.window_loss / tokens},
                      {"nll", state_.window_nll / tokens},
                      {"learning_rate", learning_rate_},
                      {"gradient_norm", gradient_norm_},
                      {"tokens_per_second", rate}}});
    state_.window_loss = state_.window_nll = 0;
    state_.window_tokens = 0;
    restart_clock();
  }

  void restart_clock() {
    window_start_ = Clock::now();
    window_start_step_ = state_.step;
    window_seen_tokens_ = 0;
  }

  void after_update(bool epoch_ends, bool last) {
    const auto due = [&](int64_t every) {
      return last || (every > 0 ? state_.step % every == 0 : epoch_ends);
    };
    const bool validate_now = !validation_.examples.empty() && due(config().validate_every);
    const bool is_best = validate_now && validate();
    const bool checkpoint_now = config().checkpoint_every > 0
                                    ? state_.step % config().checkpoint_every == 0
                                    : validate_now || (validation_.examples.empty() && epoch_ends);
    if ((is_best || checkpoint_now) && !last) {
      save(is_best);
    } else if (is_best) {
      state_.finished = true;
      save(true);
    }
    if (validate_now && out_of_patience()) {
      log::info("train", "no gain in {} validations: training ends early", config().patience);
      state_.finished = true;
    }
  }

  bool out_of_patience() const {
    return config().patience > 0 && state_.stale_validations >= config().patience;
  }

  // Returns whether this is the best so far.
  bool validate() {
    progress_.finish();
    EvaluationOptions options;
    options.decode = translator_.config.decode;
    options.decode.beam_size = 1;
    options.decode.n_best = 1;
    const Evaluation result = evaluate(translator_, validation_, options);
    const double loss = result.loss.nll_per_token();
    log::info("validation",
              "step {}  loss {:.4f}  perplexity {:.2f}  BLEU {:.2f}  chrF {:.2f}  exact {:.1f}%{}",
              state_.step, loss, result.loss.perplexity(), result.bleu.score, result.chrf.score,
              100 * result.exact,
              result.alignment_accuracy
                  ? fmt::format("  alignment {:.1f}%", 100 * *result.alignment_accuracy)
                  : "");
    const double nothing = std::nan("");
    metrics_->write({"validation",
                     state_.step,
                     epoch_now(),
                     {{"loss", result.loss.loss_per_token()},
                      {"nll", loss},
                      {"perplexity", result.loss.perplexity()},
                      {"bleu", result.bleu.score},
                      {"chrf", result.chrf.score},
                      {"exact", result.exact},
                      {"alignment_accuracy", result.alignment_accuracy.value_or(nothing)}}});
    const auto shown =
        std::min(static_cast<size_t>(config().validation_samples), result.hypotheses.size());
    for (size_t i = 0; i < shown; ++i) {
      const bool right = result.hypotheses[i] == result.respaced_references[i];
      log::info("sample", "{}  ->  {}  ({})", validation_.pairs[i].source, result.hypotheses[i],
                right ? "right" : result.respaced_references[i]);
    }
    schedule_->after_validation(loss);
    state_.schedule = schedule_->state();
    const double goodness = config().best_by == "bleu" ? result.bleu.score : -loss;
    restart_clock();
    if (!std::isfinite(goodness) || (state_.best_step >= 0 && goodness <= state_.best)) {
      ++state_.stale_validations;
      return false;
    }
    state_.best = goodness;
    state_.best_step = state_.step;
    state_.stale_validations = 0;
    return true;
  }

  void save(bool is_best) {
    state_.dropout_random = default_generator().state();
    state_.optimizer_steps = optimizer_->steps();
    folder_.save(translator_, optimizer_->state(), state_, is_best, config().keep_checkpoints);
  }

  RunFolder folder_;
  Translator translator_;
  TrainingState state_;
  EncodedCorpus train_;
  EncodedCorpus validation_;
  std::vector<NamedTensor> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<Schedule> schedule_;
  std::optional<MetricsFile> metrics_;
  Progress progress_{::isatty(STDERR_FILENO) != 0};
  int64_t total_steps_ = 0;
  double learning_rate_ = 0;
  double gradient_norm_ = 0;
  // Of the present log line, for its speed:
  Clock::time_point window_start_ = Clock::now();
  int64_t window_start_step_ = 0;
  int64_t window_seen_tokens_ = 0;
};

Trainer::Trainer(const Config& config, const RunFolder& folder)
    : impl_(std::make_unique<Impl>(config, folder)) {}
Trainer::~Trainer() { log::set_file(""); }
TrainingEnd Trainer::run() { return impl_->run(); }
Translator& Trainer::translator() { return impl_->translator(); }

}  // namespace heed::train
