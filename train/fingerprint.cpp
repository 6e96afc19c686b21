#include "train/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace heed::train {
namespace {

std::string worded(size_t count, const char* unit, const std::vector<int32_t>& ids) {
  const std::string_view bytes(reinterpret_cast<const char*>(ids.data()),
                               ids.size() * sizeof(int32_t));
  return fmt::format("{} {}, hash {:016x}", count, unit, hash_of(bytes));
}

}  // namespace

uint64_t hash_of(std::string_view bytes) {
  uint64_t hash = 0xCBF29CE484222325 ^ bytes.size();
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t count = std::min<size_t>(8, bytes.size());
    std::memcpy(&word, bytes.data(), count);
    hash = (hash ^ word) * 0x100000001B3;
    hash ^= hash >> 29;
    bytes.remove_prefix(count);
  }
  return hash;
}

std::string fingerprint(const std::vector<int32_t>& ids) {
  return worded(ids.size(), "tokens", ids);
}

std::string fingerprint(const std::vector<data::PairExample>& examples) {
  std::vector<int32_t> ids;
  for (const data::PairExample& example : examples) {
    for (const auto* side : {&example.source, &example.target}) {
      ids.push_back(static_cast<int32_t>(side->size()));
      ids.insert(ids.end(), side->begin(), side->end());
    }
  }
  return worded(examples.size(), "pairs", ids);
}

}  // namespace heed::train
