#include "train/sampling.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace heed::train {
namespace {

void renormalise(std::vector<Choice>& choices) {
  double total = 0;
  for (const Choice& choice : choices) {
    total += choice.probability;
  }
  for (Choice& choice : choices) {
    choice.probability /= total;
  }
}

void check_options(const SamplingOptions& options) {
  HEED_CHECK_INPUT(options.temperature >= 0 && std::isfinite(options.temperature), "sampling",
                   "temperature is {}, at least 0 is expected", options.temperature);
  HEED_CHECK_INPUT(options.top_k >= 0, "sampling", "top-k is {}, at least 0 is expected",
                   options.top_k);
  HEED_CHECK_INPUT(options.top_p > 0 && options.top_p <= 1, "sampling",
                   "top-p is {}, above 0 and at most 1 is expected", options.top_p);
}

}  // namespace

std::vector<Choice> choices(std::span<const float> logits, const SamplingOptions& options) {
  check_options(options);
  std::vector<Choice> all;  // the probability holds the logit at first
  for (size_t id = 0; id < logits.size(); ++id) {
    HEED_CHECK(!std::isnan(logits[id]), "sampling",
               "the model gives NaN: its weights are not finite");
    if (std::ranges::find(options.never, static_cast<int32_t>(id)) == options.never.end()) {
      all.push_back({static_cast<int32_t>(id), logits[id]});
    }
  }
  HEED_CHECK(!all.empty(), "sampling", "there is no token to draw");
  std::ranges::stable_sort(all, std::greater<>(), &Choice::probability);
  if (options.temperature == 0) {
    return {{all.front().id, 1}};
  }
  if (options.top_k > 0 && static_cast<size_t>(options.top_k) < all.size()) {
    all.resize(static_cast<size_t>(options.top_k));
  }
  const double largest = all.front().probability;
  for (Choice& choice : all) {
    choice.probability = std::exp((choice.probability - largest) / options.temperature);
  }
  renormalise(all);
  double held = 0;
  size_t kept = 0;
  while (kept < all.size() && held < options.top_p) {
    held += all[kept++].probability;
  }
  all.resize(kept);
  renormalise(all);
  return all;
}

int32_t sample(std::span<const float> logits, const SamplingOptions& options,
               Generator& generator) {
  const std::vector<Choice> all = choices(logits, options);
  double left = generator.uniform();
  for (const Choice& choice : all) {
    left -= choice.probability;
    if (left < 0) {
      return choice.id;
    }
  }
  return all.back().id;  // rounding
}

}  // namespace heed::train
