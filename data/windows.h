#pragma once

#include <cstdint>
#include <vector>

#include "core/export.h"
#include "core/random.h"
#include "data/id_store.h"

// Running text cut into windows: `width` ids to read, and the ids that follow each of them.
namespace heed::data {

struct WindowBatch {
  int64_t rows = 0;
  int64_t width = 0;
  std::vector<int32_t> input;   // (rows, width), padded where the text ends
  std::vector<int32_t> output;  // (rows, width): the next id of each; padding has none
  int64_t tokens = 0;           // of output, without padding
};

// Windows that begin at these ids; each has to have an id after it.
HEED_EXPORT WindowBatch make_window_batch(const IdStore& ids, const std::vector<int64_t>& starts,
                                          int64_t width);

// `count` windows from anywhere; whole ones unless there are too few ids for one.
HEED_EXPORT std::vector<int64_t> random_windows(int64_t count, int64_t ids, int64_t width,
                                                Generator& generator);

// One after another, so that every id but the first is predicted once, in batches of `rows`; the
// last window may be short, the last batch small.
class HEED_EXPORT SequentialWindows {
 public:
  SequentialWindows(int64_t ids, int64_t width, int64_t rows);
  int64_t batches() const { return (windows_ + rows_ - 1) / rows_; }
  std::vector<int64_t> starts(int64_t batch) const;  // where its windows begin
  // Puts the windows into another order.
  void shuffle(Generator& generator);

 private:
  int64_t width_;
  int64_t rows_;
  int64_t windows_;
  std::vector<uint32_t> order_;  // empty: as they come
};

// Batches of random_windows for an epoch, which is as many as the ids would fill. They are drawn
// when they are asked for: of each batch only where the generator stands is kept.
class HEED_EXPORT RandomWindows {
 public:
  // Moves the generator past all draws.
  RandomWindows(int64_t ids, int64_t width, int64_t rows, Generator& generator);
  int64_t batches() const { return static_cast<int64_t>(offsets_.size()); }
  std::vector<int64_t> starts(int64_t batch) const;

 private:
  int64_t ids_;
  int64_t width_;
  int64_t rows_;
  RandomState state_;
  std::vector<uint64_t> offsets_;
};

}  // namespace heed::data
