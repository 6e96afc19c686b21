#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/metrics.h"
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

std::string number(double value, const char* format) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "";
}

void print_history(const std::vector<MetricsEvent>& history) {
  TextTable table({"step", "epoch", "nll", "perplexity", "BLEU", "chrF", "exact"},
                  std::vector<bool>(7, true));
  bool any = false;
  for (const MetricsEvent& event : history) {
    if (event.event != "validation") {
      continue;
    }
    any = true;
    table.add({fmt::format("{}", event.step), fmt::format("{:.2f}", event.epoch),
               number(event.value("nll"), "{:.4f}"), number(event.value("perplexity"), "{:.3f}"),
               number(event.value("bleu"), "{:.2f}"), number(event.value("chrf"), "{:.2f}"),
               number(100 * event.value("exact"), "{:.1f}%")});
  }
  if (any) {
    fmt::print("\nvalidations\n{}", table.text());
  }
}

// A model of any kind, and the sizes of its vocabularies by the name of their side.
struct Model {
  std::unique_ptr<nn::Module> module;
  std::vector<std::pair<std::string, int64_t>> vocabularies;
};

Model model_of(const Checkpoint& checkpoint) {
  Translator translator = restore_translator(checkpoint);
  return {std::move(translator.model),
          {{"source", translator.text.source.vocabulary.size()},
           {"target", translator.text.target.vocabulary.size()}}};
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
  Checkpoint checkpoint = load_trained(options.run);
  if (std::filesystem::is_directory(options.run)) {
    // The weights shown are the best ones; how far the training is, the last checkpoint knows.
    checkpoint.state = RunFolder(options.run).load_latest().state;
  }
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
  fmt::print("\nconfig\n{}", write_toml(checkpoint.config));
}

}  // namespace

void add_inspect_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "inspect", "Show the model, config and history of a run or checkpoint");
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
