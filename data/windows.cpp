#include "data/windows.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "data/vocabulary.h"

namespace heed::data {

WindowBatch make_window_batch(const IdStore& ids, const std::vector<int64_t>& starts,
                              int64_t width) {
  const int64_t count = ids.size();
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
  std::vector<int32_t> window;
  for (const int64_t start : starts) {
    const int64_t length = std::min(width, count - 1 - start);
    window.resize(static_cast<size_t>(length) + 1);
    ids.read(start, window);
    std::copy(window.begin(), window.end() - 1, batch.input.begin() + row);
    std::copy(window.begin() + 1, window.end(), batch.output.begin() + row);
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

SequentialWindows::SequentialWindows(int64_t ids, int64_t width, int64_t rows)
    : width_(width), rows_(rows), windows_(std::max<int64_t>(0, (ids - 1 + width - 1) / width)) {}

std::vector<int64_t> SequentialWindows::starts(int64_t batch) const {
  const int64_t begin = batch * rows_;
  std::vector<int64_t> starts;
  for (int64_t i = begin; i < std::min(begin + rows_, windows_); ++i) {
    starts.push_back(width_ * (order_.empty() ? i : order_[static_cast<size_t>(i)]));
  }
  return starts;
}

void SequentialWindows::shuffle(Generator& generator) {
  HEED_CHECK_INPUT(windows_ <= UINT32_MAX, "data",
                   "{} windows are more than can be shuffled, {}; raise model.context, or take "
                   "data.windows = \"random\"",
                   windows_, UINT32_MAX);
  order_.resize(static_cast<size_t>(windows_));
  std::iota(order_.begin(), order_.end(), uint32_t{0});
  generator.shuffle(order_);
}

RandomWindows::RandomWindows(int64_t ids, int64_t width, int64_t rows, Generator& generator)
    : ids_(ids), width_(width), rows_(rows), state_(generator.state()) {
  offsets_.resize(static_cast<size_t>(std::max<int64_t>(1, ids / (rows * width))));
  for (uint64_t& offset : offsets_) {
    offset = generator.state().offset;
    random_windows(rows, ids, width, generator);
  }
}

std::vector<int64_t> RandomWindows::starts(int64_t batch) const {
  RandomState state = state_;
  state.offset = offsets_[static_cast<size_t>(batch)];
  Generator generator(state);
  return random_windows(rows_, ids_, width_, generator);
}

}  // namespace heed::data
