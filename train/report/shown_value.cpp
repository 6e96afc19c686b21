#include "train/report/shown_value.h"

#include <cmath>
#include <map>
#include <vector>

#include "train/wording.h"

namespace heed::train {

std::string ShownValue::text(double value) const {
  return std::isnan(value) ? "" : fixed(scale * value, digits).append(suffix);
}

ShownValue shown_value(const std::string& name) {
  static const std::map<std::string_view, ShownValue> known = {
      {"loss", {"Loss", "nats a token, smoothing included", "loss"}},
      {"nll", {"Negative log-likelihood", "nats a token", "nll"}},
      {"perplexity", {"Perplexity", "equally likely tokens", "perplexity", 3}},
      {"bits_per_character", {"Bits a character", "bits", "bits a character"}},
      {"bleu", {"BLEU", "of 100", "BLEU", 2}},
      {"chrf", {"chrF", "of 100", "chrF", 2}},
      {"exact", {"Sentences equal to their reference", "%", "exact", 2, 100, "%"}},
      {"alignment_accuracy",
       {"Target words aligned to a true source word", "%", "alignment", 2, 100, "%"}},
      {"learning_rate", {"Learning rate", "of an update", "learning rate", 6, 1, "", true}},
      {"gradient_norm", {"Gradient norm", "L2, before clipping", "gradient norm", 4, 1, "", true}},
      {"tokens_per_second", {"Speed", "tokens a second", "tokens a second", 0, 1, "", true}}};
  const auto found = known.find(name);
  return found == known.end() ? ShownValue{name, name, name} : found->second;
}

std::span<const std::string> validation_scores() {
  static const std::vector<std::string> names = {"nll",  "perplexity", "bits_per_character", "bleu",
                                                 "chrf", "exact",      "alignment_accuracy"};
  return names;
}

}  // namespace heed::train
