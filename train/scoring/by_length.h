#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/export.h"
#include "train/scoring/bleu.h"

namespace heed::train {

// The sentences of min_length to max_length source words.
struct LengthBucket {
  int64_t min_length = 0;
  int64_t max_length = 0;
  int64_t sentences = 0;
  BleuScore bleu;
};

// Corpus BLEU against source length (Bahdanau et al. 2015, figure 2): sentences are grouped by
// lengths 1 to width, width + 1 to 2 * width and so on, an empty source going with the first;
// buckets without a sentence are left out. lengths[i] is the number of source words of sentence i.
// Throws Error when the counts differ, there is no sentence, width < 1 or a length is negative.
HEED_EXPORT std::vector<LengthBucket> bleu_by_length(std::span<const int64_t> lengths,
                                                     std::span<const std::string> hypotheses,
                                                     std::span<const std::string> references,
                                                     int64_t width = 5,
                                                     const BleuOptions& options = {});

}  // namespace heed::train
