#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"
#include "data/id_store.h"
#include "data/pair_store.h"

namespace heed::train {

// FNV-1a over words of eight bytes; the shift lets high bits reach low ones.
HEED_EXPORT uint64_t hash_of(std::string_view bytes);

// What a run learns from, in few words: "560 tokens, hash 0123456789abcdef". Other data has another
// fingerprint, as far as a hash can tell.
HEED_EXPORT std::string fingerprint(const data::IdStore& ids);
HEED_EXPORT std::string fingerprint(const data::PairStore& examples);

}  // namespace heed::train
