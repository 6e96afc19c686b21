#include "train/report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "train/report/shown_value.h"
#include "train/report/text_report.h"
#include "train/report/translation_report.h"

namespace heed::train {
namespace {

void add_chart(std::vector<Chart>& charts, const std::string& title, const std::string& unit,
               int64_t last, std::vector<Series> all) {
  std::erase_if(all, [](const Series& series) { return series.x.empty(); });
  if (all.empty()) {
    return;
  }
  Chart& chart = charts.emplace_back(Chart{std::move(all), {}});
  chart.options.title = title;
  chart.options.x_label = "step";
  chart.options.y_label = unit;
  chart.options.x_range = Range{0, static_cast<double>(last)};
  chart.options.width = 576;
  chart.options.height = 360;
}

// "nll 0.0213, BLEU 99.10": of the validation of that step; empty when there was none.
std::string scores_at(const std::vector<MetricsEvent>& events, int64_t step) {
  const auto validation = std::find_if(
      events.rbegin(), events.rend(),
      [&](const MetricsEvent& event) { return event.event == "validation" && event.step == step; });
  if (validation == events.rend()) {
    return "";
  }
  std::string text;
  for (const std::string& name : validation_scores()) {
    const ShownValue shown = shown_value(name);
    const std::string value = shown.text(validation->value(name));
    if (!value.empty()) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", shown.name, value);
    }
  }
  return text;
}

std::string introduction(const Checkpoint& best, const std::vector<MetricsEvent>& events) {
  const DataConfig& data = best.config.data;
  const std::string scores = scores_at(events, best.state.step);
  const bool is_best = best.state.step == best.state.best_step;
  return fmt::format(
      "{}, {} checkpoint at step {}\n{}trained on {}, validated on {}", best.config.model.kind,
      is_best ? "best" : "latest", best.state.step,
      scores.empty() ? "" : fmt::format("{}; ", scores), fmt::join(data.train, " and "),
      data.validation.empty() ? "nothing" : fmt::format("{}", fmt::join(data.validation, " and ")));
}

}  // namespace

Series series_of(const std::vector<MetricsEvent>& events, const std::string& event,
                 const std::string& value, const std::string& name) {
  Series series;
  series.name = name;
  const double scale = shown_value(value).scale;
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

int64_t last_step(const std::vector<MetricsEvent>& events) {
  int64_t last = 0;
  for (const MetricsEvent& event : events) {
    last = std::max(last, event.step);
  }
  return last;
}

std::vector<PageSection> curve_sections(const std::vector<MetricsEvent>& events) {
  std::vector<Chart> charts;
  const auto add = [&, last = last_step(events)](const std::string& title, const std::string& unit,
                                                 std::vector<Series> all) {
    add_chart(charts, title, unit, last, std::move(all));
  };
  const auto add_value = [&](const char* event, const char* value, const char* name) {
    const ShownValue shown = shown_value(value);
    add(shown.title, shown.unit, {series_of(events, event, value, name)});
  };
  const ShownValue nll = shown_value("nll");
  add(nll.title, nll.unit,
      {series_of(events, "train", "nll", "training"),
       series_of(events, "validation", "nll", "validation")});
  add_value("validation", "bits_per_character", "validation");
  add("Validation scores", "of 100",
      {series_of(events, "validation", "bleu", "BLEU"),
       series_of(events, "validation", "chrf", "chrF"),
       series_of(events, "validation", "exact", "exact"),
       series_of(events, "validation", "alignment_accuracy", "alignment")});
  add_value("train", "learning_rate", "rate");
  add_value("train", "gradient_norm", "norm");
  if (charts.empty()) {
    return {};
  }
  std::string body = "<div class=\"charts\">\n";
  for (const std::string& chart : line_charts_svg(charts)) {
    body += chart;
  }
  return {{"Curves", body + "</div>"}};
}

std::string run_report(const std::string& run, const Checkpoint& best,
                       const std::vector<MetricsEvent>& events) {
  std::vector<PageSection> sections = curve_sections(events);
  std::vector<PageSection> shown;
  if (best.config.data.task == "language_model") {
    LanguageModel language_model = restore_language_model(best);
    shown = text_sections(language_model);
  } else {
    Translator translator = restore_translator(best);
    shown = translation_sections(translator);
  }
  std::ranges::move(shown, std::back_inserter(sections));
  return html_page(run, sections, introduction(best, events));
}

}  // namespace heed::train
