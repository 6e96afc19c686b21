#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/error.h"
#include "core/threads.h"
#include "train/bench/growth.h"
#include "train/bench/measure.h"
#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/config/nearest.h"
#include "train/report/table.h"

namespace heed::train {
namespace {

struct Options {
  std::vector<std::string> presets;
  double seconds = 5;
  MachineFlags machine;
  bool json = false;
  std::string growth;  // picture
};

std::vector<const BenchPreset*> chosen(const Options& options) {
  std::vector<const BenchPreset*> presets;
  std::vector<std::string_view> names;
  for (const BenchPreset& preset : bench_presets()) {
    names.push_back(preset.name);
    if (options.presets.empty()) {
      presets.push_back(&preset);
    }
  }
  for (const std::string& name : options.presets) {
    const auto found = std::ranges::find(bench_presets(), name, &BenchPreset::name);
    const std::string_view near = nearest(name, names);
    HEED_CHECK_INPUT(found != bench_presets().end(), "bench",
                     "there is no preset called '{}'{}; there are {}", name,
                     near.empty() ? "" : fmt::format(", did you mean '{}'?", near),
                     fmt::join(names, ", "));
    presets.push_back(&*found);
  }
  return presets;
}

// The peak of the process is that of the preset when it is the only one.
nlohmann::ordered_json to_json(const BenchPreset& preset, const BenchResult& result,
                               const RunConfig& run, bool only_one) {
  nlohmann::ordered_json json = {
      {"preset", preset.name},
      {"device", device_name(default_device())},
      {"precision", run.precision},
      {"threads", thread_count()},
      {"runs", result.runs},
      {"seconds_per_step", result.seconds_per_step},
      {"tokens_per_second", result.tokens_per_second},
      {"gflops", result.gflops},
      {"sgemm_peak_gflops", result.sgemm_peak_gflops},
      {"share_of_peak", result.share_of_peak},
      {"extra_mib", result.extra_mib},
  };
  if (only_one) {
    json["peak_rss_mib"] = result.peak_rss_mib;
  }
  if (result.weight_read_seconds > 0) {
    json["weight_read_seconds"] = result.weight_read_seconds;
  }
  return json;
}

void run_growth(const Options& options) {
  std::vector<Growth> growths;
  for (const GrowthAxis& axis : growth_axes()) {
    growths.push_back(measure_growth(axis, options.seconds));
  }
  write_output(options.growth, growth_svg(growths));
  fmt::print("{}", growth_table(growths));
}

void run_presets(const Options& options, const RunConfig& run) {
  const auto presets = chosen(options);
  TextTable table({"preset", "ms a step", "tokens/s", "GFLOP/s", "sgemm", "share", "extra MiB"},
                  {false, true, true, true, true, true, true});
  for (const BenchPreset* preset : presets) {
    const auto workload = preset->make();
    const BenchResult result = measure(*workload, options.seconds);
    if (options.json) {
      fmt::print("{}\n", to_json(*preset, result, run, presets.size() == 1).dump());
    } else {
      table.add({std::string(preset->name), fmt::format("{:.2f}", 1e3 * result.seconds_per_step),
                 fmt::format("{:.0f}", result.tokens_per_second),
                 fmt::format("{:.1f}", result.gflops),
                 fmt::format("{:.1f}", result.sgemm_peak_gflops),
                 fmt::format("{:.0f}%", 100 * result.share_of_peak),
                 fmt::format("{:.1f}", result.extra_mib)});
    }
  }
  if (!options.json) {
    fmt::print("{}", table.text());
  }
}

void run_bench(const Options& options) {
  check_option("--seconds", options.seconds, {.low = 0, .high = 3600, .low_open = true});
  HEED_CHECK_INPUT(
      options.growth.empty() || (options.presets.empty() && !options.json), "heed",
      "--growth varies gpt-small and prints a table: give it without PRESET and --json");
  check_ending("--growth", options.growth, {{".svg", "a picture"}});
  const RunConfig run = options.machine.apply();
  options.growth.empty() ? run_presets(options, run) : run_growth(options);
}

std::string footer() {
  std::string text =
      "Medians of runs that alternate with products of 2048 x 2048 matrices (sgemm): share is how\n"
      "much of that speed a step reaches, counting 6 flops a weight a position for training.\n\n";
  for (const BenchPreset& preset : bench_presets()) {
    text += fmt::format("  {:<12} {}\n", preset.name, preset.help);
  }
  return text +
         "\n  heed bench gpt-small rnnsearch\n  heed bench gpt-small --json\n  heed bench --growth "
         "growth.svg";
}

}  // namespace

void add_bench_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("bench", "Measure training and decoding on this machine");
  command->footer(footer());
  command->add_option("PRESET", options->presets, "What to measure; all when none is given")
      ->type_name("");
  command->add_option("--seconds", options->seconds, "How long each runs, about (default: 5)")
      ->type_name("S");
  options->machine.add_to(*command);
  command->add_flag("--json", options->json,
                    "Print one JSON object a preset; of a single one it also tells peak_rss_mib,\n"
                    "the most that the process held");
  command
      ->add_option(
          "--growth", options->growth,
          "Vary context, width, batch, vocabulary and threads of gpt-small, print how time\n"
          "and memory grow and draw it to FILE (SVG)")
      ->type_name("FILE");
  command->callback([options] { run_bench(*options); });
}

}  // namespace heed::train
