#include "data/pair_store.h"

#include "core/error.h"

namespace heed::data {
namespace {

constexpr size_t pairs_a_place = 64;

}  // namespace

PairStore::PairStore(const std::string& name, int64_t vocabulary, int64_t expected, size_t memory)
    : ids_(name, vocabulary, memory) {
  lengths_.reserve(static_cast<size_t>(expected));
}

void PairStore::append(const PairExample& example) {
  HEED_CHECK_INPUT(size() < UINT32_MAX, "data", "a corpus has at most {} pairs", UINT32_MAX);
  if (size() % pairs_a_place == 0) {
    places_.push_back(ids_.size());
  }
  lengths_.push_back(
      {static_cast<uint32_t>(example.source.size()), static_cast<uint32_t>(example.target.size())});
  ids_.append(example.source);
  ids_.append(example.target);
}

PairExample PairStore::at(size_t pair) const {
  HEED_ASSERT(pair < size(), "pair {} of {}", pair, size());
  int64_t place = places_[pair / pairs_a_place];
  for (size_t i = pair - pair % pairs_a_place; i < pair; ++i) {
    place += int64_t{lengths_[i].source} + lengths_[i].target;
  }
  PairExample example{std::vector<int32_t>(lengths_[pair].source),
                      std::vector<int32_t>(lengths_[pair].target)};
  ids_.read(place, example.source);
  ids_.read(place + lengths_[pair].source, example.target);
  return example;
}

}  // namespace heed::data
