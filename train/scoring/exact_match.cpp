#include "train/scoring/exact_match.h"

#include <cstdint>

#include "train/scoring/corpus.h"

namespace heed::train {

double exact_match(std::span<const std::string> hypotheses,
                   std::span<const std::string> references) {
  check_corpus("exact match", hypotheses, references);
  int64_t equal = 0;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    equal += hypotheses[i] == references[i] ? 1 : 0;
  }
  return static_cast<double>(equal) / static_cast<double>(hypotheses.size());
}

}  // namespace heed::train
