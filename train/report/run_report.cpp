#include "train/report/run_report.h"

#include <cmath>

#include "train/report/chart.h"

namespace heed::train {
namespace {

Series series_of(const std::vector<MetricsEvent>& events, const std::string& event,
                 const std::string& value, const std::string& name, double scale = 1) {
  Series series;
  series.name = name;
  for (const MetricsEvent& entry : events) {
    const double number = entry.value(value);
    if (entry.event == event && std::isfinite(number)) {
      series.x.push_back(static_cast<double>(entry.step));
      series.y.push_back(scale * number);
    }
  }
  series.markers = series.x.size() < 30;
  return series;
}

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

std::optional<AlignmentPicture> picture(std::vector<std::string> source,
                                        std::vector<std::string> target,
                                        const std::vector<std::vector<float>>& attention,
                                        std::string caption) {
  if (attention.empty() || source.empty() || target.empty()) {
    return std::nullopt;
  }
  AlignmentPicture result{std::move(source), std::move(target), {}, std::move(caption)};
  for (const auto& row : attention) {
    result.weights.insert(result.weights.end(), row.begin(), row.end());
  }
  return result;
}

}  // namespace

std::vector<Curve> run_curves(const std::vector<MetricsEvent>& events) {
  std::vector<Curve> curves;
  add_curve(curves, "Loss", "nats a token",
            {series_of(events, "train", "nll", "training"),
             series_of(events, "validation", "nll", "validation")});
  add_curve(curves, "Validation scores", "of 100",
            {series_of(events, "validation", "bleu", "BLEU"),
             series_of(events, "validation", "chrf", "chrF"),
             series_of(events, "validation", "exact", "exact", 100),
             series_of(events, "validation", "alignment_accuracy", "alignment", 100)});
  add_curve(curves, "Learning rate", "", {series_of(events, "train", "learning_rate", "rate")});
  add_curve(curves, "Gradient norm", "", {series_of(events, "train", "gradient_norm", "norm")});
  return curves;
}

std::optional<AlignmentPicture> alignment_picture(const Translator& translator,
                                                  const std::string& source,
                                                  const Translation& translation) {
  return picture(
      source_pieces(translator, source), translation.pieces, translation.attention,
      fmt::format("{}  →  {}  (score {:.3f})", source, translation.text, translation.score));
}

std::optional<AlignmentPicture> alignment_picture(
    const Translator& translator, const data::SentencePair& pair,
    const std::vector<std::vector<float>>& attention) {
  std::vector<std::string> target = translator.text.target.tokenizer->encode(pair.target);
  target.emplace_back("</s>");
  return picture(source_pieces(translator, pair.source), std::move(target), attention,
                 fmt::format("{}  →  {}  (given)", pair.source, pair.target));
}

std::string run_report(const std::string& title, const std::vector<MetricsEvent>& events,
                       Translator& translator, const std::vector<data::SentencePair>& samples) {
  std::vector<PageSection> sections;
  for (Curve& curve : run_curves(events)) {
    sections.push_back({curve.heading, std::move(curve.svg)});
  }
  std::vector<std::string> sources;
  for (const data::SentencePair& sample : samples) {
    sources.push_back(sample.source);
  }
  std::vector<std::vector<std::string>> rows;
  std::vector<AlignmentPicture> pictures;
  const auto translations = translate(translator, sources, translator.config.decode);
  for (size_t i = 0; i < samples.size(); ++i) {
    const Translation& best = translations[i].front();
    // The reference as the tokenizer would write it, so that only words differ.
    const data::Tokenizer& tokenizer = *translator.text.target.tokenizer;
    rows.push_back(
        {samples[i].source, best.text, tokenizer.decode(tokenizer.encode(samples[i].target))});
    if (auto shown = alignment_picture(translator, samples[i].source, best)) {
      pictures.push_back(std::move(*shown));
    }
  }
  if (!rows.empty()) {
    sections.push_back({"Samples", html_table({"source", "translation", "reference"}, rows)});
  }
  if (!pictures.empty()) {
    sections.push_back({"Alignments", alignments_section(pictures)});
  }
  return html_page(title, sections,
                   fmt::format("{}, {} parameters", translator.config.model.kind,
                               translator.model->parameter_count()));
}

}  // namespace heed::train
