#include "train/translation_data.h"

#include <algorithm>

#include "core/error.h"
#include "core/logging.h"

namespace heed::train {
namespace {

TextSide build_side(const Config& config, const std::vector<std::string>& texts,
                    const std::string& name) {
  TextSide side;
  side.tokenizer = data::make_tokenizer(
      {config.data.tokenizer, config.data.lowercase, config.data.subword_size}, texts);
  data::TokenCounts counts;
  for (const std::string& text : texts) {
    for (const std::string& piece : side.tokenizer->encode(text)) {
      ++counts[piece];
    }
  }
  side.vocabulary =
      data::Vocabulary::from_counts(counts, config.data.min_count, config.data.max_vocabulary);
  check_vocabulary(side, config.data, name);
  return side;
}

// The columns of a corpus.
std::vector<std::string> texts_of(const data::PairCorpus& corpus,
                                  std::string data::SentencePair::*side) {
  std::vector<std::string> texts;
  for (const data::SentencePair& pair : corpus.pairs) {
    texts.push_back(pair.*side);
  }
  return texts;
}

Tensor ids_of(const std::vector<int32_t>& ids, const data::PairBatch& batch, int64_t width) {
  return Tensor::from_vector(ids, {batch.size(), width});
}

}  // namespace

TranslationText build_text(const Config& config, const data::PairCorpus& train) {
  std::vector<std::string> sources = texts_of(train, &data::SentencePair::source);
  const std::vector<std::string> targets = texts_of(train, &data::SentencePair::target);
  if (config.data.shared_vocabulary) {
    sources.insert(sources.end(), targets.begin(), targets.end());
    TextSide both = build_side(config, sources, train.name);
    log::info("data", "vocabulary of both sides: {}", both.vocabulary.size());
    TextSide target{data::restore_tokenizer(both.tokenizer->state()), both.vocabulary};
    return {std::move(both), std::move(target)};
  }
  TranslationText text{build_side(config, sources, train.name + ", source"),
                       build_side(config, targets, train.name + ", target")};
  log::info("data", "vocabularies: {} source, {} target", text.source.vocabulary.size(),
            text.target.vocabulary.size());
  return text;
}

std::vector<int32_t> encode_source(const Config& config, const TextSide& side,
                                   const std::string& text) {
  std::vector<int32_t> ids = side.encode(text);
  if (config.data.reverse_source) {
    std::reverse(ids.begin(), ids.end());
  }
  if (config.data.source_end) {
    ids.push_back(data::Vocabulary::end);
  }
  return ids;
}

EncodedCorpus encode_corpus(const Config& config, const TranslationText& text,
                            data::PairCorpus corpus, LengthFilter filter) {
  EncodedCorpus encoded;
  encoded.name = corpus.name;
  int64_t too_long = 0;
  int64_t over_ratio = 0;
  int64_t unknown = 0;
  int64_t tokens = 0;
  const auto longest = static_cast<size_t>(config.data.max_length);
  for (size_t i = 0; i < corpus.pairs.size(); ++i) {
    data::SentencePair& pair = corpus.pairs[i];
    data::PairExample example{encode_source(config, text.source, pair.source),
                              text.target.encode(pair.target)};
    const size_t source_size = example.source.size() - (config.data.source_end ? 1 : 0);
    const size_t target_size = example.target.size();
    if (filter == LengthFilter::apply) {
      if (std::max(source_size, target_size) > longest) {
        ++too_long;
        continue;
      }
      const auto longer = static_cast<double>(std::max(source_size, target_size));
      const auto shorter =
          static_cast<double>(std::max<size_t>(1, std::min(source_size, target_size)));
      if (config.data.max_ratio > 0 && longer / shorter > config.data.max_ratio) {
        ++over_ratio;
        continue;
      }
    }
    for (const auto* side : {&example.source, &example.target}) {
      unknown += std::count(side->begin(), side->end(), data::Vocabulary::unknown);
      tokens += static_cast<int64_t>(side->size());
    }
    encoded.target_tokens += static_cast<int64_t>(target_size) + 1;
    encoded.examples.push_back(std::move(example));
    encoded.pairs.push_back(std::move(pair));
    if (!corpus.alignments.empty()) {
      encoded.alignments.push_back(std::move(corpus.alignments[i]));
    }
  }
  log::info(
      "data", "{}: {} pairs ({} empty, {} too long (> {} tokens), {} over ratio), {:.2f}% unknown",
      corpus.name, encoded.examples.size(), corpus.empty_dropped, too_long, longest, over_ratio,
      100.0 * static_cast<double>(unknown) / std::max<double>(1, static_cast<double>(tokens)));
  HEED_CHECK_INPUT(!encoded.examples.empty(), "data",
                   "{}: no pair is left ({} were longer than data.max_length = {}, {} over "
                   "data.max_ratio)",
                   corpus.name, too_long, longest, over_ratio);
  return encoded;
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
