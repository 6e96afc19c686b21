#include "train/bench/synthetic.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/random.h"
#include "data/vocabulary.h"

namespace heed::train {

Tensor synthetic_ids(const Shape& shape, int64_t vocabulary, uint64_t stream) {
  Generator generator(1, stream);
  constexpr int64_t first = data::Vocabulary::special_count;
  std::vector<int32_t> ids(static_cast<size_t>(shape.numel()));
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(
        first + static_cast<int64_t>(generator.below(static_cast<uint64_t>(vocabulary - first))));
  }
  return Tensor::from_vector(ids, shape);
}

int64_t product_weights(const nn::Module& module) {
  const auto aliases = module.aliases();
  int64_t count = 0;
  for (const NamedTensor& entry : module.named_parameters()) {
    const bool table = entry.name.find("embedding") != std::string::npos ||
                       entry.name.find("positions") != std::string::npos;
    const bool also_output =
        std::ranges::any_of(aliases, [&](const auto& alias) { return alias.second == entry.name; });
    if (entry.tensor.rank() == 2 && (!table || also_output)) {
      count += entry.tensor.numel();
    }
  }
  return count;
}

}  // namespace heed::train
