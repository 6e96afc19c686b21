#include "train/report/translation_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/logging.h"
#include "data/corpus.h"
#include "train/evaluation.h"
#include "train/wording.h"

namespace heed::train {
namespace {

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

constexpr size_t samples_shown = 8;
constexpr size_t sentences_by_head = 3;

// The first pairs of the validation corpus, or else of those that the training learned from; none
// of a pipe, which the training has read.
std::vector<data::SentencePair> samples_of(const Translator& translator) {
  const Config& config = translator.config;
  const bool validated = !config.data.validation.empty();
  const CorpusName& name = validated ? config.data.validation : config.data.train;
  if (!data::can_be_opened_again(name)) {
    log::info("run", "{} can be read only once: the report shows no samples", name.front());
    return {};
  }
  return validated ? load_corpus(config, name, data::Split::validation).first(samples_shown)
                   : first_learned(config, translator.text,
                                   load_corpus(config, name, data::Split::train), samples_shown);
}

// A small picture for every head of every layer, the references forced; empty where the model has
// no heads.
std::string heads_section(Translator& translator, const std::vector<data::SentencePair>& samples) {
  std::string section;
  for (size_t i = 0; i < std::min(samples.size(), sentences_by_head); ++i) {
    const data::SentencePair& pair = samples[i];
    const auto layers = head_attention(translator, pair);
    std::vector<std::vector<AlignmentPicture>> pictures;
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      auto& heads = pictures.emplace_back();
      for (size_t head = 0; head < layers[layer].size(); ++head) {
        auto shown = alignment_picture(translator, pair, layers[layer][head]);
        if (shown) {
          shown->caption = fmt::format("layer {}, head {}", layer + 1, head + 1);
          heads.push_back(std::move(*shown));
        }
      }
    }
    if (!pictures.empty()) {
      section +=
          heads_figure(fmt::format("{}  →  {}  (given)", pair.source, pair.target), pictures);
    }
  }
  return section;
}

}  // namespace

std::optional<AlignmentPicture> alignment_picture(const Translator& translator,
                                                  const std::string& source,
                                                  const Translation& translation) {
  return picture(
      source_pieces(translator, source), translation.pieces, translation.attention,
      fmt::format("{}  →  {}  (score {})", source, translation.text, fixed(translation.score, 3)));
}

std::optional<AlignmentPicture> alignment_picture(
    const Translator& translator, const data::SentencePair& pair,
    const std::vector<std::vector<float>>& attention) {
  std::vector<std::string> target = translator.text.target.tokenizer->encode(pair.target);
  target.emplace_back("</s>");
  return picture(source_pieces(translator, pair.source), std::move(target), attention,
                 fmt::format("{}  →  {}  (given)", pair.source, pair.target));
}

std::string_view alignment_note(const Translator& translator) {
  return translator.config.model.kind == "transformer"
             ? "The weights are the mean over all layers and heads."
             : "";
}

std::vector<PageSection> translation_sections(Translator& translator) {
  const std::vector<data::SentencePair> samples = samples_of(translator);
  if (samples.empty()) {
    return {};
  }
  std::vector<std::string> sources;
  for (const data::SentencePair& sample : samples) {
    sources.push_back(sample.source);
  }
  std::vector<std::vector<std::string>> rows;
  std::vector<AlignmentPicture> pictures;
  const auto translations = translate(translator, sources, translator.config.decode, true);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Translation& best = translations[i].front();
    // The reference as the tokenizer would write it, so that only words differ.
    const data::Tokenizer& tokenizer = *translator.text.target.tokenizer;
    rows.push_back({sources[i], best.text, tokenizer.decode(tokenizer.encode(samples[i].target))});
    if (auto shown = alignment_picture(translator, sources[i], best)) {
      pictures.push_back(std::move(*shown));
    }
  }
  std::vector<PageSection> sections;
  sections.push_back({"Samples", html_table({"source", "translation", "reference"}, rows)});
  if (!pictures.empty()) {
    const std::string_view note = alignment_note(translator);
    sections.push_back({"Alignments", (note.empty() ? "" : fmt::format("<p>{}</p>\n", note)) +
                                          alignments_section(pictures)});
  }
  const std::string heads = heads_section(translator, samples);
  if (!heads.empty()) {
    sections.push_back(
        {"Alignments by layer and head",
         "<p>Rows are words of the translation, columns words of the source.</p>\n" + heads});
  }
  return sections;
}

}  // namespace heed::train
