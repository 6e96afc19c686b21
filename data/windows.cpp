#include "data/windows.h"

#include <algorithm>

#include "core/error.h"
#include "data/vocabulary.h"

namespace heed::data {

WindowBatch make_window_batch(const std::vector<int32_t>& ids, const std::vector<int64_t>& starts,
                              int64_t width) {
  const auto count = static_cast<int64_t>(ids.size());
  WindowBatch batch;
  batch.rows = static_cast<int64_t>(starts.size());
  for (const int64_t start : starts) {
    HEED_CHECK(start >= 0 && start + 1 < count, "windows",
               "a window begins at {}, there are {} ids", start, count);
    batch.width = std::max(batch.width, std::min(width, count - 1 - start));
  }
  const auto cells = static_cast<size_t>(batch.rows * batch.width);
  batch.input.assign(cells, Vocabulary::padding);
  batch.output.assign(cells, Vocabulary::padding);
  int64_t row = 0;
  for (const int64_t start : starts) {
    const int64_t length = std::min(width, count - 1 - start);
    const auto first = ids.begin() + start;
    std::copy(first, first + length, batch.input.begin() + row);
    std::copy(first + 1, first + length + 1, batch.output.begin() + row);
    batch.tokens += length;
    row += batch.width;
  }
  return batch;
}

std::vector<int64_t> random_windows(int64_t count, int64_t ids, int64_t width,
                                    Generator& generator) {
  const int64_t places = std::max<int64_t>(1, ids - width);
  std::vector<int64_t> starts(static_cast<size_t>(count));
  for (int64_t& start : starts) {
    start = static_cast<int64_t>(generator.below(static_cast<uint64_t>(places)));
  }
  return starts;
}

std::vector<int64_t> sequential_windows(int64_t ids, int64_t width) {
  std::vector<int64_t> starts;
  for (int64_t start = 0; start + 1 < ids; start += width) {
    starts.push_back(start);
  }
  return starts;
}

}  // namespace heed::data
