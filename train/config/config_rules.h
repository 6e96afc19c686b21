#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"

namespace heed::train {

// What a range or a choice cannot say: values that contradict each other.
struct Rule {
  std::vector<std::string_view> keys;     // looked at when the user gave one of them
  std::string (*mistake)(const Config&);  // empty when all is well
};

std::span<const Rule> config_rules();

// Fills what follows from other keys; `stem` names a run that has no name.
void resolve(Config& config, const std::string& stem);

}  // namespace heed::train
