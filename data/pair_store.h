#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/export.h"
#include "data/id_store.h"

namespace heed::data {

// One sentence pair as ids. The source ends with </s> where the model wants that; the target has
// neither start nor end.
struct PairExample {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

// Sentence pairs as ids, of which only the lengths are held: 8 bytes a pair. The ids lie in an
// IdStore.
class HEED_EXPORT PairStore {
 public:
  PairStore() = default;
  // `vocabulary`: of the side that has more tokens. `expected`: about how many pairs will come.
  PairStore(const std::string& name, int64_t vocabulary, int64_t expected = 0,
            size_t memory = ScratchFile::default_memory);

  void append(const PairExample& example);
  size_t size() const { return lengths_.size(); }
  bool empty() const { return lengths_.empty(); }
  size_t source_length(size_t pair) const { return lengths_[pair].source; }
  size_t target_length(size_t pair) const { return lengths_[pair].target; }
  int64_t tokens() const { return ids_.size(); }  // of both sides
  PairExample at(size_t pair) const;

 private:
  struct Lengths {
    uint32_t source, target;
  };
  std::vector<Lengths> lengths_;
  std::vector<int64_t> places_;  // in ids_, of every 64th pair
  IdStore ids_;                  // source, target, source, target, ...
};

}  // namespace heed::data
