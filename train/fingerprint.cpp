#include "train/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace heed::train {
namespace {

constexpr uint64_t basis = 0xCBF29CE484222325;

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x100000001B3;
  return hash ^ (hash >> 29);
}

// hash_of the bytes of ids that come in parts.
class IdHash {
 public:
  explicit IdHash(int64_t count)
      : hash_(basis ^ (static_cast<uint64_t>(count) * sizeof(int32_t))) {}

  void add(int32_t id) {
    const uint64_t half = static_cast<uint32_t>(id);
    if (has_first_) {
      hash_ = mixed(hash_, first_ | half << 32);
    }
    first_ = half;
    has_first_ = !has_first_;
  }
  uint64_t value() const { return has_first_ ? mixed(hash_, first_) : hash_; }

 private:
  uint64_t hash_;
  uint64_t first_ = 0;  // half of a word
  bool has_first_ = false;
};

std::string worded(int64_t count, const char* unit, const IdHash& hash) {
  return fmt::format("{} {}, hash {:016x}", count, unit, hash.value());
}

}  // namespace

uint64_t hash_of(std::string_view bytes) {
  uint64_t hash = basis ^ bytes.size();
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t count = std::min<size_t>(8, bytes.size());
    std::memcpy(&word, bytes.data(), count);
    hash = mixed(hash, word);
    bytes.remove_prefix(count);
  }
  return hash;
}

std::string fingerprint(const data::IdStore& ids) {
  IdHash hash(ids.size());
  std::vector<int32_t> part;
  for (int64_t begin = 0; begin < ids.size(); begin += static_cast<int64_t>(part.size())) {
    part.resize(static_cast<size_t>(std::min<int64_t>(ids.size() - begin, 1 << 16)));
    ids.read(begin, part);
    for (const int32_t id : part) {
      hash.add(id);
    }
  }
  return worded(ids.size(), "tokens", hash);
}

std::string fingerprint(const data::PairStore& examples) {
  IdHash hash(2 * static_cast<int64_t>(examples.size()) + examples.tokens());
  for (size_t i = 0; i < examples.size(); ++i) {
    const data::PairExample example = examples.at(i);
    for (const auto* side : {&example.source, &example.target}) {
      hash.add(static_cast<int32_t>(side->size()));
      for (const int32_t id : *side) {
        hash.add(id);
      }
    }
  }
  return worded(static_cast<int64_t>(examples.size()), "pairs", hash);
}

}  // namespace heed::train
