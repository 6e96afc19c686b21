#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"

namespace heed::train {

// What a range or a choice cannot say: values that contradict each other. Looked at when all that
// follows from other keys is there.
struct Rule {
  std::vector<std::string_view> keys;     // looked at when the user gave one of them
  std::string (*mistake)(const Config&);  // empty when all is well
  bool essential = false;                 // heed cannot work with it: asked of checkpoints too
};

std::span<const Rule> config_rules();

// Gives the keys that are not given the default of model.kind, which itself follows from data.task,
// or what follows from what is given: train.epochs, data.test.
void take_defaults(Config& config, const std::function<bool(std::string_view)>& given);

// Fills what follows from other keys; `stem` names a run that has no name.
void resolve(Config& config, const std::string& stem);

}  // namespace heed::train
