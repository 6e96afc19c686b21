#include "train/scoring/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/version.h"
#include "train/scoring/corpus.h"
#include "train/scoring/ngrams.h"
#include "train/scoring/text.h"

namespace heed::train {
namespace {

std::string prepare(std::string_view text, const BleuOptions& options) {
  std::string result = options.lowercase ? lower(text) : std::string(text);
  return options.tokenizer == BleuTokenizer::mteval_13a ? tokenize_13a(result) : result;
}

void set_precisions(BleuScore& result, BleuSmoothing smoothing) {
  double divisor = 1.0;
  for (int n = 0; n < BleuScore::max_order && result.totals[n] > 0; ++n) {
    const auto total = static_cast<double>(result.totals[n]);
    if (result.matches[n] > 0) {
      result.precisions[n] = 100.0 * static_cast<double>(result.matches[n]) / total;
    } else if (smoothing == BleuSmoothing::exponential) {
      divisor *= 2.0;
      result.precisions[n] = 100.0 / (divisor * total);
    }
  }
}

double brevity_penalty(int64_t hypothesis_length, int64_t reference_length) {
  if (hypothesis_length >= reference_length) {
    return 1.0;
  }
  if (hypothesis_length == 0) {
    return 0.0;
  }
  return std::exp(1.0 -
                  static_cast<double>(reference_length) / static_cast<double>(hypothesis_length));
}

std::string signature(const BleuOptions& options) {
  return fmt::format("nrefs:1|case:{}|eff:no|tok:{}|smooth:{}|version:heed-{}",
                     options.lowercase ? "lc" : "mixed",
                     options.tokenizer == BleuTokenizer::mteval_13a ? "13a" : "none",
                     options.smoothing == BleuSmoothing::exponential ? "exp" : "none", version());
}

}  // namespace

BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options) {
  check_corpus("bleu", hypotheses, references);
  BleuScore result;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const std::string hypothesis = prepare(hypotheses[i], options);
    const std::string reference = prepare(references[i], options);
    const auto ours = split_words(hypothesis);
    const auto theirs = split_words(reference);
    result.hypothesis_length += std::ssize(ours);
    result.reference_length += std::ssize(theirs);
    for (int n = 0; n < BleuScore::max_order; ++n) {
      const auto counts = count_ngrams<std::string_view>(ours, theirs, n + 1);
      result.matches[n] += counts.matches;
      result.totals[n] += counts.hypothesis;
    }
  }
  result.signature = signature(options);
  result.brevity_penalty = brevity_penalty(result.hypothesis_length, result.reference_length);
  if (std::ranges::all_of(result.matches, [](int64_t count) { return count == 0; })) {
    return result;  // smoothing gives nothing for nothing
  }
  set_precisions(result, options.smoothing);
  // An order that no hypothesis is long enough for, or an unsmoothed one without a match, makes
  // the geometric mean 0.
  double log_sum = 0.0;
  for (const double precision : result.precisions) {
    log_sum += std::log(precision);
  }
  // exp and log leave 100 by a rounding error.
  result.score = std::min(100.0, result.brevity_penalty * std::exp(log_sum / BleuScore::max_order));
  return result;
}

}  // namespace heed::train
