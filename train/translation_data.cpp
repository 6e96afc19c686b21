#include "train/translation_data.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/logging.h"
#include "data/line_sample.h"

namespace heed::train {
namespace {

using Side = std::string_view data::PairView::*;

// Of one side of the corpus or of several, one after another.
TextSide build_side(const Config& config, const data::PairCorpus& corpus,
                    const std::vector<Side>& sides, int64_t bytes, const std::string& name) {
  const auto for_each = [&](const std::function<void(std::string_view)>& visit) {
    for (const Side side : sides) {
      corpus.for_each([&](const data::PairView& pair) { visit(pair.*side); });
    }
  };
  const data::TokenizerOptions options{config.data.tokenizer, config.data.lowercase,
                                       config.data.subword_size};
  data::LineSample sample(bytes, options.subword_sample);
  if (options.kind == "subword") {
    for_each([&](std::string_view text) { sample.offer(text); });
  }
  TextSide side;
  side.tokenizer = data::make_tokenizer(options, sample.take(name), name);
  data::TokenCounts counts;
  for_each([&](std::string_view text) {
    for (const std::string& piece : side.tokenizer->encode(text)) {
      ++counts[piece];
    }
  });
  side.vocabulary =
      data::Vocabulary::from_counts(counts, config.data.min_count, config.data.max_vocabulary);
  check_vocabulary(side, config.data, name);
  return side;
}

data::PairExample example_of(const Config& config, const TranslationText& text,
                             const data::PairView& pair) {
  return {encode_source(config, text.source, pair.source), text.target.encode(pair.target)};
}

enum class Fit { fits, too_long, over_ratio };

Fit fit_of(const DataConfig& data, const data::PairExample& example) {
  const size_t source = example.source.size() - (data.source_end ? 1 : 0);
  const size_t longer = std::max(source, example.target.size());
  const size_t shorter = std::max<size_t>(1, std::min(source, example.target.size()));
  if (longer > static_cast<size_t>(data.max_length)) {
    return Fit::too_long;
  }
  const double ratio = static_cast<double>(longer) / static_cast<double>(shorter);
  return data.max_ratio > 0 && ratio > data.max_ratio ? Fit::over_ratio : Fit::fits;
}

Tensor ids_of(const std::vector<int32_t>& ids, const data::PairBatch& batch, int64_t width) {
  return Tensor::from_vector(ids, {batch.size(), width});
}

}  // namespace

TranslationText build_text(const Config& config, const data::PairCorpus& train) {
  const Side source = &data::PairView::source;
  const Side target = &data::PairView::target;
  if (config.data.shared_vocabulary) {
    TextSide both = build_side(config, train, {source, target},
                               train.source_bytes() + train.target_bytes(), train.name());
    log::info("data", "vocabulary of both sides: {}", both.vocabulary.size());
    TextSide copy{data::restore_tokenizer(both.tokenizer->state()), both.vocabulary};
    return {std::move(both), std::move(copy)};
  }
  TranslationText text{
      build_side(config, train, {source}, train.source_bytes(), train.name() + ", source"),
      build_side(config, train, {target}, train.target_bytes(), train.name() + ", target")};
  log::info("data", "vocabularies: {} source, {} target", text.source.vocabulary.size(),
            text.target.vocabulary.size());
  return text;
}

std::vector<int32_t> encode_source(const Config& config, const TextSide& side,
                                   std::string_view text) {
  std::vector<int32_t> ids = side.encode(text);
  if (config.data.reverse_source) {
    std::reverse(ids.begin(), ids.end());
  }
  if (config.data.source_end) {
    ids.push_back(data::Vocabulary::end);
  }
  return ids;
}

data::PairStore pair_store(const TranslationText& text, const std::string& name, int64_t expected) {
  return {name, std::max(text.source.vocabulary.size(), text.target.vocabulary.size()), expected};
}

EncodedCorpus encode_corpus(const Config& config, const TranslationText& text,
                            const data::PairCorpus& corpus, CorpusUse use) {
  EncodedCorpus encoded;
  encoded.name = corpus.name();
  encoded.examples = pair_store(text, corpus.name(), corpus.size());
  int64_t too_long = 0;
  int64_t over_ratio = 0;
  int64_t unknown = 0;
  int64_t tokens = 0;
  corpus.for_each([&](const data::PairView& pair) {
    const data::PairExample example = example_of(config, text, pair);
    const Fit fit = use == CorpusUse::training ? fit_of(config.data, example) : Fit::fits;
    if (fit != Fit::fits) {
      ++(fit == Fit::too_long ? too_long : over_ratio);
      return;
    }
    for (const auto* side : {&example.source, &example.target}) {
      unknown += std::count(side->begin(), side->end(), data::Vocabulary::unknown);
      tokens += static_cast<int64_t>(side->size());
    }
    encoded.target_tokens += static_cast<int64_t>(example.target.size()) + 1;
    encoded.examples.append(example);
    if (use == CorpusUse::evaluation) {
      encoded.pairs.push_back({std::string(pair.source), std::string(pair.target)});
      if (pair.alignment != nullptr) {
        encoded.alignments.push_back(*pair.alignment);
      }
    }
  });
  const double unknown_share =
      static_cast<double>(unknown) / std::max<double>(1, static_cast<double>(tokens));
  log::info("data",
            "{}: {} pairs ({} empty, {} too long (> {} tokens), {} over ratio), {:.2f}% unknown",
            corpus.name(), encoded.examples.size(), corpus.empty_dropped(), too_long,
            config.data.max_length, over_ratio, 100 * unknown_share);
  if (use == CorpusUse::evaluation && unknown_share > 0.2) {
    log::warning("data",
                 "{}: {:.0f}% of its tokens are in no vocabulary; is it of the languages that were "
                 "trained on?",
                 corpus.name(), 100 * unknown_share);
  }
  HEED_CHECK_INPUT(!encoded.examples.empty(), "data",
                   "{}: no pair is left ({} were longer than data.max_length = {}, {} over "
                   "data.max_ratio)",
                   corpus.name(), too_long, config.data.max_length, over_ratio);
  return encoded;
}

std::vector<data::SentencePair> first_learned(const Config& config, const TranslationText& text,
                                              const data::PairCorpus& corpus, size_t count) {
  std::vector<data::SentencePair> pairs;
  corpus.scan([&](const data::PairView& pair) {
    if (pairs.size() < count && fit_of(config.data, example_of(config, text, pair)) == Fit::fits) {
      pairs.push_back({std::string(pair.source), std::string(pair.target)});
    }
    return pairs.size() < count;
  });
  return pairs;
}

data::PairCorpus load_corpus(const Config& config, const CorpusName& name, data::Split split) {
  data::CorpusOptions options;
  options.invalid_utf8 = invalid_utf8_policy(config.data);
  options.seed = static_cast<uint64_t>(config.run.seed);
  options.drop_empty = config.data.empty == "drop";
  return data::load_pair_corpus(name, split, options);
}

nn::PaddedIds source_of(const data::PairBatch& batch) {
  return {ids_of(batch.source, batch, batch.source_width), batch.source_lengths};
}
Tensor target_input_of(const data::PairBatch& batch) {
  return ids_of(batch.target_input, batch, batch.target_width);
}
Tensor target_output_of(const data::PairBatch& batch) {
  return ids_of(batch.target_output, batch, batch.target_width);
}

}  // namespace heed::train
