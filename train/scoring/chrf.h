#pragma once

#include <span>
#include <string>

#include "core/export.h"

namespace heed::train {

struct ChrfOptions {
  bool lowercase = false;
};

struct ChrfScore {
  double score = 0.0;     // 0 to 100
  std::string signature;  // "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:heed-..."
};

// Corpus chrF2 with one reference a sentence: F-score of character 1- to 6-grams without white
// space, recall weighing twice (Popović 2015; as sacreBLEU 2: averages over the orders that both
// sides have). Throws Error when there is no sentence or the counts differ.
HEED_EXPORT ChrfScore chrf(std::span<const std::string> hypotheses,
                           std::span<const std::string> references,
                           const ChrfOptions& options = {});

}  // namespace heed::train
