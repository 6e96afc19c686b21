#pragma once

#include <cstdint>
#include <vector>

#include "data/id_store.h"

namespace heed::test {

inline std::vector<int32_t> all_ids(const data::IdStore& store) {
  std::vector<int32_t> ids(static_cast<size_t>(store.size()));
  store.read(0, ids);
  return ids;
}

}  // namespace heed::test
