#pragma once

#include <cstdint>
#include <vector>

#include "core/export.h"
#include "core/random.h"

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
HEED_EXPORT WindowBatch make_window_batch(const std::vector<int32_t>& ids,
                                          const std::vector<int64_t>& starts, int64_t width);

// `count` windows from anywhere; whole ones unless there are too few ids for one.
HEED_EXPORT std::vector<int64_t> random_windows(int64_t count, int64_t ids, int64_t width,
                                                Generator& generator);
// One after another, so that every id but the first is predicted once; the last may be short.
HEED_EXPORT std::vector<int64_t> sequential_windows(int64_t ids, int64_t width);

}  // namespace heed::data
