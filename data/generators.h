#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "data/corpus.h"
#include "data/split.h"

// The built-in corpora. A new one is a function and a line in the table of generators.cpp.
namespace heed::data {

struct GeneratorRequest {
  int64_t count = 0;
  std::optional<std::pair<int, int>> lengths;  // source words, least and most; none: its default
  Split split = Split::train;
  uint64_t seed = 1;
};

using PairGenerator = std::shared_ptr<const PairSource> (*)(const GeneratorRequest& request);

std::string generator_names();  // "grammar, reverse"

// Nothing when there is none of that name.
const PairGenerator* find_generator(std::string_view name);

}  // namespace heed::data
