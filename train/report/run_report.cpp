#include "train/report/run_report.h"

#include <algorithm>
#include <iterator>

#include "train/report/chart.h"
#include "train/report/text_report.h"
#include "train/report/translation_report.h"

namespace heed::train {

Series series_of(const std::vector<MetricsEvent>& events, const std::string& event,
                 const std::string& value, const std::string& name, double scale) {
  Series series;
  series.name = name;
  for (const MetricsEvent& entry : events) {
    const double number = scale * entry.value(value);
    if (entry.event == event && is_drawable(number)) {
      series.x.push_back(static_cast<double>(entry.step));
      series.y.push_back(number);
    }
  }
  series.markers = series.x.size() < 30;
  return series;
}

namespace {

void add_curve(std::vector<Curve>& curves, const std::string& heading, const std::string& y_label,
               std::vector<Series> all) {
  std::erase_if(all, [](const Series& series) { return series.x.empty(); });
  if (!all.empty()) {
    ChartOptions options;
    options.x_label = "step";
    options.y_label = y_label;
    curves.push_back({heading, line_chart_svg(all, options)});
  }
}

}  // namespace

std::vector<Curve> run_curves(const std::vector<MetricsEvent>& events) {
  std::vector<Curve> curves;
  add_curve(curves, "Loss", "nats a token",
            {series_of(events, "train", "nll", "training"),
             series_of(events, "validation", "nll", "validation")});
  add_curve(curves, "Bits a character", "bits",
            {series_of(events, "validation", "bits_per_character", "validation")});
  add_curve(curves, "Validation scores", "of 100",
            {series_of(events, "validation", "bleu", "BLEU"),
             series_of(events, "validation", "chrf", "chrF"),
             series_of(events, "validation", "exact", "exact", 100),
             series_of(events, "validation", "alignment_accuracy", "alignment", 100)});
  add_curve(curves, "Learning rate", "", {series_of(events, "train", "learning_rate", "rate")});
  add_curve(curves, "Gradient norm", "", {series_of(events, "train", "gradient_norm", "norm")});
  return curves;
}

std::string run_report(const std::string& run, const Checkpoint& best,
                       const std::vector<MetricsEvent>& events) {
  std::vector<PageSection> sections;
  for (Curve& curve : run_curves(events)) {
    sections.push_back({curve.heading, std::move(curve.svg)});
  }
  std::vector<PageSection> shown;
  if (best.config.data.task == "language_model") {
    LanguageModel language_model = restore_language_model(best);
    shown = text_sections(language_model);
  } else {
    Translator translator = restore_translator(best);
    shown = translation_sections(translator);
  }
  std::ranges::move(shown, std::back_inserter(sections));
  return html_page(
      run, sections,
      fmt::format("{}, best checkpoint at step {}", best.config.model.kind, best.state.step));
}

}  // namespace heed::train
