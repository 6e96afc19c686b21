#include "train/scoring/chrf.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "core/version.h"
#include "data/utf8.h"
#include "train/scoring/corpus.h"
#include "train/scoring/ngrams.h"
#include "train/scoring/text.h"

namespace heed::train {
namespace {

constexpr std::size_t max_order = 6;
constexpr double beta = 2.0;

std::u32string characters(std::string_view text, const ChrfOptions& options) {
  std::u32string result = data::decode_utf8(options.lowercase ? lower(text) : std::string(text));
  std::erase_if(result, data::is_space);
  return result;
}

double f_score(const std::array<NgramCounts, max_order>& counts) {
  double precision = 0.0;
  double recall = 0.0;
  int orders = 0;
  for (const NgramCounts& count : counts) {
    if (count.hypothesis > 0 && count.reference > 0) {
      const auto matches = static_cast<double>(count.matches);
      precision += matches / static_cast<double>(count.hypothesis);
      recall += matches / static_cast<double>(count.reference);
      ++orders;
    }
  }
  if (precision + recall == 0.0) {
    return 0.0;
  }
  precision /= orders;
  recall /= orders;
  constexpr double factor = beta * beta;
  return 100.0 * (1.0 + factor) * precision * recall / (factor * precision + recall);
}

}  // namespace

ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const ChrfOptions& options) {
  check_corpus("chrf", hypotheses, references);
  std::array<NgramCounts, max_order> sums{};
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const std::u32string hypothesis = characters(hypotheses[i], options);
    const std::u32string reference = characters(references[i], options);
    for (std::size_t n = 0; n < max_order; ++n) {
      const auto counts = count_ngrams<char32_t>(hypothesis, reference, n + 1);
      // A hypothesis is not charged for orders its reference is too short for.
      sums[n].hypothesis += counts.reference > 0 ? counts.hypothesis : 0;
      sums[n].reference += counts.reference;
      sums[n].matches += counts.matches;
    }
  }
  return {f_score(sums), fmt::format("nrefs:1|case:{}|eff:yes|nc:{}|nw:0|space:no|version:heed-{}",
                                     options.lowercase ? "lc" : "mixed", max_order, version())};
}

}  // namespace heed::train
