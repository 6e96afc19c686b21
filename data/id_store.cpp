#include "data/id_store.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace heed::data {
namespace {

constexpr size_t ids_at_once = 4096;

int64_t width_for(int64_t vocabulary) {
  return vocabulary <= UINT8_MAX + 1 ? 1 : vocabulary <= UINT16_MAX + 1 ? 2 : 4;
}

// Calls f with a zero of the type that ids of this width are kept in.
template <typename F>
void with_type_of(int64_t width, const F& f) {
  switch (width) {
    case 1:
      return f(uint8_t{0});
    case 2:
      return f(uint16_t{0});
    default:
      return f(int32_t{0});
  }
}

}  // namespace

IdStore::IdStore(const std::string& name, int64_t vocabulary, size_t memory)
    : width_(width_for(vocabulary)), bytes_("data", "the ids of " + name, memory) {}

void IdStore::append(std::span<const int32_t> ids) {
  with_type_of(width_, [&](auto zero) {
    using Kept = decltype(zero);
    std::array<Kept, ids_at_once> kept;
    for (size_t begin = 0; begin < ids.size(); begin += ids_at_once) {
      const auto part = ids.subspan(begin, std::min(ids_at_once, ids.size() - begin));
      std::transform(part.begin(), part.end(), kept.begin(),
                     [](int32_t id) { return static_cast<Kept>(id); });
      bytes_.append(kept.data(), part.size() * sizeof(Kept));
    }
  });
}

void IdStore::read(int64_t begin, std::span<int32_t> into) const {
  with_type_of(width_, [&](auto zero) {
    using Kept = decltype(zero);
    std::array<Kept, ids_at_once> kept;
    for (size_t done = 0; done < into.size(); done += ids_at_once) {
      const auto part = into.subspan(done, std::min(ids_at_once, into.size() - done));
      bytes_.read_at((begin + static_cast<int64_t>(done)) * width_, kept.data(),
                     part.size() * sizeof(Kept));
      std::copy_n(kept.begin(), part.size(), part.begin());
    }
  });
}

}  // namespace heed::data
