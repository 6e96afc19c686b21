#include "train/config/nearest.h"

#include <algorithm>
#include <cstddef>

namespace heed::train {
namespace {

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost 1.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last, now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    now[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(now);
    now.assign(b.size() + 1, i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before_last[j - 2] + 1);
      }
    }
  }
  return now[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr size_t longest = 64;  // nobody mistypes a word of that length
  if (word.empty() || word.size() > longest) {
    return {};
  }
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (best.empty() && word.size() >= 3) {
    const auto longer = std::ranges::find_if(
        candidates, [&](std::string_view candidate) { return candidate.starts_with(word); });
    best = longer == candidates.end() ? std::string_view() : *longer;
  }
  return best;
}

}  // namespace heed::train
