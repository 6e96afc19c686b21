#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/language_model.h"
#include "train/metrics.h"
#include "train/report/shown_value.h"
#include "train/report/table.h"
#include "train/run_folder.h"
#include "train/translator.h"

namespace heed::train {
namespace {

struct Options {
  std::string run;
  bool json = false;
};

std::vector<MetricsEvent> history_of(const std::string& run) {
  const RunFolder folder(run);
  return std::filesystem::exists(folder.metrics_path()) ? read_metrics(folder.metrics_path())
                                                        : std::vector<MetricsEvent>{};
}

// A row a validation, with a column for whatever they measured.
void print_history(std::vector<MetricsEvent> history) {
  std::erase_if(history, [](const MetricsEvent& event) { return event.event != "validation"; });
  if (history.empty()) {
    return;
  }
  std::vector<std::string> columns;
  std::ranges::copy_if(
      validation_scores(), std::back_inserter(columns), [&](const std::string& name) {
        return std::ranges::any_of(
            history, [&](const MetricsEvent& event) { return !std::isnan(event.value(name)); });
      });
  std::vector<std::string> header = {"step", "epoch"};
  for (const std::string& name : columns) {
    header.push_back(shown_value(name).name);
  }
  TextTable table(header, std::vector<bool>(header.size(), true));
  for (const MetricsEvent& event : history) {
    std::vector<std::string> row = {fmt::format("{}", event.step),
                                    fmt::format("{:.2f}", event.epoch)};
    for (const std::string& name : columns) {
      row.push_back(shown_value(name).text(event.value(name)));
    }
    table.add(std::move(row));
  }
  fmt::print("\nvalidations\n{}", table.text());
}

// A model of any kind, and the sizes of its vocabularies by the name of their side.
struct Model {
  std::unique_ptr<nn::Module> module;
  std::vector<std::pair<std::string, int64_t>> vocabularies;
};

Model model_of(const Checkpoint& checkpoint) {
  if (checkpoint.config.data.task == "language_model") {
    LanguageModel language_model = restore_language_model(checkpoint);
    const int64_t size = language_model.text.vocabulary.size();
    return {std::move(language_model.model), {{"text", size}}};
  }
  Translator translator = restore_translator(checkpoint);
  return {std::move(translator.model),
          {{"source", translator.text.source.vocabulary.size()},
           {"target", translator.text.target.vocabulary.size()}}};
}

// The other keys are at the defaults of its kind, or follow from these.
void print_config(const Config& config) {
  fmt::print(
      "\nconfig, where it differs from the defaults (config.toml in the run folder has all)\n");
  for (const ConfigDifference& difference : chosen_keys(config)) {
    fmt::print("  {} = {}\n", difference.key, difference.after);
  }
}

void print_json(const Checkpoint& checkpoint, const Model& model,
                const std::vector<MetricsEvent>& history) {
  nlohmann::ordered_json json;
  json["kind"] = checkpoint.config.model.kind;
  json["step"] = checkpoint.state.step;
  json["finished"] = checkpoint.state.finished;
  json["best_step"] = checkpoint.state.best_step;
  json["parameter_count"] = model.module->parameter_count();
  for (const auto& [side, size] : model.vocabularies) {
    json[side + "_vocabulary"] = size;
  }
  json["parameters"] = nlohmann::ordered_json::array();
  for (const NamedTensor& parameter : model.module->named_parameters()) {
    const Shape& shape = parameter.tensor.shape();
    json["parameters"].push_back({{"name", parameter.name},
                                  {"dtype", dtype_name(parameter.tensor.dtype())},
                                  {"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
  }
  json["config"] = write_toml(checkpoint.config);
  json["history"] = nlohmann::ordered_json::array();
  for (const MetricsEvent& event : history) {
    nlohmann::ordered_json line = {
        {"event", event.event}, {"step", event.step}, {"epoch", event.epoch}};
    for (const auto& [name, value] : event.values) {
      line[name] = value;
    }
    json["history"].push_back(std::move(line));
  }
  fmt::print("{}\n", json.dump());
}

void run_inspect(const Options& options) {
  // Of a run the latest: how far it is, and the config that it goes on with.
  const Checkpoint checkpoint = std::filesystem::is_directory(options.run)
                                    ? RunFolder(options.run).load_latest()
                                    : load_trained(options.run);
  const Model model = model_of(checkpoint);
  const auto history = history_of(options.run);
  if (options.json) {
    print_json(checkpoint, model, history);
    return;
  }
  std::string vocabularies;
  for (const auto& [side, size] : model.vocabularies) {
    vocabularies += fmt::format(", {} vocabulary {}", side, size);
  }
  fmt::print("{} at step {}{}{}\n\n{}", checkpoint.config.model.kind, checkpoint.state.step,
             checkpoint.state.finished ? " (finished)" : "", vocabularies,
             model.module->describe());
  print_history(history);
  print_config(checkpoint.config);
}

}  // namespace

void add_inspect_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "inspect", "Show the model and config of a run or checkpoint, and the history of a run");
  command->footer(
      "  heed inspect runs/toy_translator\n"
      "  heed inspect runs/toy_translator/checkpoints/best.safetensors --json");
  command->add_option("RUN", options->run, "A run folder or a checkpoint file")
      ->required()
      ->type_name("");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options] { run_inspect(*options); });
}

}  // namespace heed::train
