#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace heed::train {

// How many n-grams of order n the sequences hold and share, each counted as often as it stands in
// the sequence that has fewer of it.
struct NgramCounts {
  int64_t hypothesis = 0;
  int64_t reference = 0;
  int64_t matches = 0;
};

template <typename Symbol>
NgramCounts count_ngrams(std::span<const Symbol> hypothesis, std::span<const Symbol> reference,
                         std::size_t order) {
  using Ngram = std::span<const Symbol>;
  const auto less = [](const Ngram& a, const Ngram& b) {
    return std::ranges::lexicographical_compare(a, b);
  };
  const auto sorted = [&](std::span<const Symbol> symbols) {
    std::vector<Ngram> ngrams;
    for (std::size_t i = 0; i + order <= symbols.size(); ++i) {
      ngrams.push_back(symbols.subspan(i, order));
    }
    std::ranges::sort(ngrams, less);
    return ngrams;
  };
  const auto ours = sorted(hypothesis);
  const auto theirs = sorted(reference);
  std::vector<Ngram> shared;
  std::ranges::set_intersection(ours, theirs, std::back_inserter(shared), less);
  return {std::ssize(ours), std::ssize(theirs), std::ssize(shared)};
}

}  // namespace heed::train
