#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/export.h"

namespace heed::train {

enum class BleuTokenizer {
  mteval_13a,  // "13a": splits punctuation as WMT's mteval-v13a does
  none,        // words are what white space separates: for text that is tokens already
};

enum class BleuSmoothing {
  exponential,  // "exp": the k-th order without a match counts 1 / 2^k matches (NIST)
  none,
};

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::mteval_13a;
  BleuSmoothing smoothing = BleuSmoothing::exponential;
  bool lowercase = false;
};

struct BleuScore {
  static constexpr int max_order = 4;

  double score = 0.0;                          // 0 to 100
  std::array<double, max_order> precisions{};  // percent, smoothed
  double brevity_penalty = 0.0;
  int64_t hypothesis_length = 0;  // tokens
  int64_t reference_length = 0;
  std::array<int64_t, max_order> matches{};  // clipped n-gram counts, before smoothing
  std::array<int64_t, max_order> totals{};   // n-grams of the hypotheses
  std::string signature;  // how it was computed, as sacreBLEU writes it: "nrefs:1|case:mixed|..."
};

// Corpus BLEU-4 with one reference a sentence (Papineni et al. 2002; definition, tokenizers and
// smoothing as sacreBLEU 2, Post 2018). Throws Error when there is no sentence or the numbers of
// hypotheses and references differ.
HEED_EXPORT BleuScore bleu(std::span<const std::string> hypotheses,
                           std::span<const std::string> references,
                           const BleuOptions& options = {});

// The text split by the 13a rules, tokens apart by single spaces.
HEED_EXPORT std::string tokenize_13a(std::string_view text);

}  // namespace heed::train
