#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/export.h"

namespace heed::train {

// How a value of metrics.jsonl is shown. A value that is not known is called as it is.
struct ShownValue {
  std::string title, unit;       // of a picture
  std::string name;              // of a column, in a sentence
  int digits = 4;                // after the point
  double scale = 1;              // from the event's value to the unit
  std::string_view suffix = "";  // "%"
  bool of_training = false;      // no validation measures it

  HEED_EXPORT std::string text(double value) const;  // "99.10%"; empty for NaN, which is no value
};

// By the name in the events ("nll", "bleu").
HEED_EXPORT ShownValue shown_value(const std::string& name);

// What validations measure, in the order in which it is shown.
HEED_EXPORT std::span<const std::string> validation_scores();

}  // namespace heed::train
