#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/export.h"
#include "core/random.h"

namespace heed::train {

struct SamplingOptions {
  double temperature = 1;           // 0: always the likeliest token
  int64_t top_k = 0;                // only the k likeliest; 0: all
  double top_p = 1;                 // of those only the likeliest that together hold this much
  std::vector<int32_t> never = {};  // ids that are not drawn
};

struct Choice {
  int32_t id = 0;
  double probability = 0;
};

// What may be drawn, the likeliest first (the smaller id of equal ones): softmax(logits /
// temperature) in f64, cut to top_k, then to the nucleus (Holtzman et al. 2020: the fewest tokens
// with at least top_p), renormalised after each cut. Throws Error when a logit is NaN, InputError
// for options out of range.
HEED_EXPORT std::vector<Choice> choices(std::span<const float> logits,
                                        const SamplingOptions& options);

HEED_EXPORT int32_t sample(std::span<const float> logits, const SamplingOptions& options,
                           Generator& generator);

}  // namespace heed::train
