#include <fmt/core.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "autograd/autograd.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/logging.h"
#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/report/run_report.h"
#include "train/trainer.h"

namespace heed::train {
namespace {

// Written by a handler: what arrived, and whether a training is there to save it.
volatile std::sig_atomic_t last_signal = 0;
volatile std::sig_atomic_t training = 0;

void on_signal(int number) {
  if (training == 0 || last_signal != 0) {
    std::_Exit(128 + number);  // nothing to save, or the second one; what was saved is whole
  }
  last_signal = number;
  request_stop();
}

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM}) {
    ::sigaction(number, &action, nullptr);
  }
  // Of a terminal that is closed, but where nohup says to live on.
  struct sigaction present {};
  ::sigaction(SIGHUP, nullptr, &present);
  if (present.sa_handler != SIG_IGN) {
    ::sigaction(SIGHUP, &action, nullptr);
  }
}

struct Options {
  std::string target;
  std::string run;
  std::string branch;
  std::vector<std::string> overrides;
  bool check_finite = false;
};

// CONFIG is a config file, or a run folder that goes on under its own config.
Config config_of(const Options& options) {
  if (!std::filesystem::is_directory(options.target)) {
    return load_config(options.target, options.overrides);
  }
  const RunFolder run(options.target);
  return std::filesystem::exists(run.config_path())
             ? load_config(run.config_path(), options.overrides)
             : parse_config(write_toml(run.load_latest().config), run.path(), options.overrides);
}

// The run folder that is trained into.
std::string folder_of(const Options& options, const Config& config) {
  if (!options.branch.empty()) {
    return options.branch;
  }
  if (!options.run.empty()) {
    return options.run;
  }
  return std::filesystem::is_directory(options.target) ? options.target : "runs/" + config.run.name;
}

// The run is saved, whatever becomes of its report.
void write_report(const RunFolder& folder) {
  const std::string path = folder.report_path("index.html");
  try {
    write_output(
        path, run_report(folder.path(), folder.load_best(), read_metrics(folder.metrics_path())));
    log::info("run", "curves and samples: {}", path);
  } catch (const std::exception& failure) {
    log::warning("run", "no report is made: {}", failure.what());
  }
}

void run_training(const Options& options) {
  HEED_CHECK_INPUT(options.branch.empty() || std::filesystem::is_directory(options.target), "heed",
                   "--branch goes off from a run folder, {} is none", options.target);
  const Config config = config_of(options);
  const RunFolder folder(folder_of(options, config));
  const RunFolder origin(options.target);
  handle_signals();
  Trainer trainer(config, folder, options.branch.empty() ? nullptr : &origin);
  if (options.check_finite) {  // for this once: the run's config stays as it is
    set_check_finite(true);
  }
  training = 1;
  const TrainingEnd end = trainer.run();
  training = 0;
  forget_stop_request();  // one that came after the last batch asks for what has happened
  write_report(folder);   // of a run that was stopped as well: a second signal ends that at once
  if (end == TrainingEnd::interrupted) {
    throw ExitWith{128 + last_signal};
  }
}

}  // namespace

void add_train_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("train", "Train a model from a config file");
  command->footer(
      "The run folder holds the config, a log, metrics.jsonl, checkpoints and a report. The same\n"
      "command again goes on where a stopped run was; so does naming the run folder.\n"
      "Ctrl-C saves, writes the report and stops; a second Ctrl-C stops at once.\n\n"
      "  heed train examples/toy_translator.toml\n"
      "  heed train examples/char_lm.toml\n"
      "  heed train mine.toml --run runs/wide --set model.width=512\n"
      "  heed train runs/wide\n"
      "  heed train runs/wide --set train.learning_rate=1e-4 --branch runs/slow");
  command->add_option("CONFIG", options->target, "A config file, or a run folder to continue")
      ->required()
      ->type_name("");
  const auto named = [](const std::string& folder) {
    return std::string(folder.empty() ? "is empty, a folder is expected" : "");
  };
  command->add_option("--run", options->run, "The run folder (default: runs/NAME)")
      ->type_name("DIR")
      ->check(named);
  command
      ->add_option("--branch", options->branch,
                   "Go on in a new run folder, where keys may change that would break the "
                   "continuation of CONFIG, a run folder")
      ->type_name("NEW_RUN")
      ->check(named)
      ->excludes("--run");
  add_set_option(*command, options->overrides);
  command->add_flag("--check-finite", options->check_finite,
                    "Stop at the first op that makes a NaN or inf, naming it (slow)");
  command->callback([options] { run_training(*options); });
}

}  // namespace heed::train
