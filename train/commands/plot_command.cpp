#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/logging.h"
#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/config/nearest.h"
#include "train/report/chart.h"
#include "train/report/run_report.h"
#include "train/report/shown_value.h"
#include "train/run_folder.h"

namespace heed::train {
namespace {

struct Options {
  std::vector<std::string> runs;
  std::string output;
  std::string value;
  bool training = false;
};

std::vector<MetricsEvent> events_of(const std::string& run) {
  const RunFolder folder(run);
  HEED_CHECK_INPUT(std::filesystem::exists(folder.metrics_path()), "plot",
                   "{} is no run folder: there is no metrics.jsonl in it", run);
  return read_metrics(folder.metrics_path());
}

// The values that can be drawn, each once.
void add_names(std::vector<std::string>& names, const std::vector<MetricsEvent>& events) {
  for (const MetricsEvent& event : events) {
    for (const auto& [name, value] : event.values) {
      if (is_drawable(value) && std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
      }
    }
  }
}

// Of its validations where they have the value and training was not asked for, else of its
// training, which is told where it could be taken for the other.
Series curve_of(const std::string& run, const std::vector<MetricsEvent>& events,
                const std::string& value, bool training) {
  if (!training) {
    Series series = series_of(events, "validation", value, run);
    if (!series.x.empty()) {
      return series;
    }
  }
  return series_of(events, "train", value,
                   shown_value(value).of_training ? run : run + " (training)");
}

// The end of a message about a value that no run has: the one that was meant, and all there are.
std::string there_are(const std::vector<std::string>& names, std::string value) {
  if (names.empty()) {
    return ": there are no events yet";
  }
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string_view meant = nearest(value, {names.begin(), names.end()});
  return fmt::format("; {}there are {}",
                     meant.empty() ? "" : fmt::format("did you mean '{}'? ", meant),
                     fmt::join(names, ", "));
}

// One value of several runs in one picture.
std::string compare(const Options& options) {
  std::vector<Series> all;
  std::vector<std::string> without, names;
  int64_t last = 0;
  for (const std::string& run : options.runs) {
    const auto events = events_of(run);
    last = std::max(last, last_step(events));
    add_names(names, events);
    Series series = curve_of(run, events, options.value, options.training);
    if (series.x.empty()) {
      without.push_back(run);
    } else {
      all.push_back(std::move(series));
    }
  }
  HEED_CHECK_INPUT(!all.empty(), "plot", "no run has a value '{}'{}", options.value,
                   there_are(names, options.value));
  for (const std::string& run : without) {
    log::warning("plot", "{} has no value '{}': it is left out", run, options.value);
  }
  const ShownValue shown = shown_value(options.value);
  ChartOptions chart;
  chart.title = shown.title;
  chart.x_label = "step";
  chart.y_label = shown.unit;
  chart.x_range = Range{0, static_cast<double>(last)};
  return line_chart_svg(all, chart);
}

std::string page(const std::string& run) {
  const std::vector<PageSection> sections = curve_sections(events_of(run));
  HEED_CHECK_INPUT(!sections.empty(), "plot", "{} has no events yet", run);
  return html_page(run, sections);
}

void check_output(const Options& options) {
  const std::string& output = options.output;
  check_ending("--output", output,
               {{".html", "a page of one run"}, {".svg", "a picture of one value"}});
  HEED_CHECK_INPUT(options.value.empty() || !output.ends_with(".html"), "plot",
                   "--value is {}, but --output is {}: a page shows every value; a picture (.svg) "
                   "shows one",
                   options.value, output);
  HEED_CHECK_INPUT(!options.training || !output.ends_with(".html"), "plot",
                   "--training is of an .svg picture, but --output is {}: a page shows both",
                   output);
  HEED_CHECK_INPUT(options.runs.size() == 1 || !output.ends_with(".html"), "plot",
                   "--output is {}: a page shows one run, {} are compared in an .svg picture",
                   output, options.runs.size());
}

void run_plot(Options options) {
  check_output(options);
  const bool one_page = options.runs.size() == 1 && options.value.empty() && !options.training &&
                        !options.output.ends_with(".svg");
  if (options.value.empty()) {
    options.value = "nll";
  }
  if (options.output.empty()) {
    options.output = one_page ? RunFolder(options.runs.front()).report_path("curves.html")
                              : options.value + ".svg";
  }
  write_output(options.output, one_page ? page(options.runs.front()) : compare(options));
  fmt::print("{}\n", options.output);
}

}  // namespace

void add_plot_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("plot", "Draw the curves of a run, or compare runs");
  command->footer(
      "  heed plot runs/toy_translator                          all curves, as a page\n"
      "  heed plot runs/a runs/b --value bleu --output ab.svg   one value of several runs");
  command->add_option("RUN", options->runs, "Run folders")->required()->type_name("");
  command
      ->add_option(
          "--output", options->output,
          "An .html page of one run (default: RUN/report/curves.html), or an .svg picture of one "
          "value (default: VALUE.svg)")
      ->type_name("FILE");
  command
      ->add_option(
          "--value", options->value,
          "What a picture shows (default: nll): loss, perplexity, bleu, learning_rate, ...")
      ->type_name("NAME");
  command->add_flag("--training", options->training,
                    "The value while training, not that of the validations");
  command->callback([options] { run_plot(*options); });
}

}  // namespace heed::train
