#include "train/scoring/by_length.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "train/scoring/corpus.h"

namespace heed::train {

std::vector<LengthBucket> bleu_by_length(std::span<const int64_t> lengths,
                                         std::span<const std::string> hypotheses,
                                         std::span<const std::string> references, int64_t width,
                                         const BleuOptions& options) {
  check_corpus("bleu by length", hypotheses, references);
  HEED_CHECK(lengths.size() == hypotheses.size(), "bleu by length",
             "each hypothesis needs the length of its source: {} hypotheses, {} lengths",
             hypotheses.size(), lengths.size());
  HEED_CHECK(width > 0, "bleu by length", "the bucket width is {}; it must be at least 1", width);

  struct Pairs {
    std::vector<std::string> hypotheses;
    std::vector<std::string> references;
  };
  std::map<int64_t, Pairs> groups;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    HEED_CHECK(lengths[i] >= 0, "bleu by length", "the source of sentence {} has length {}", i,
               lengths[i]);
    Pairs& group = groups[std::max<int64_t>(lengths[i] - 1, 0) / width];
    group.hypotheses.push_back(hypotheses[i]);
    group.references.push_back(references[i]);
  }

  std::vector<LengthBucket> buckets;
  for (const auto& [number, group] : groups) {
    buckets.push_back({number * width + 1, (number + 1) * width, std::ssize(group.hypotheses),
                       bleu(group.hypotheses, group.references, options)});
  }
  return buckets;
}

}  // namespace heed::train
