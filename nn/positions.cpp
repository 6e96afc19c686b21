#include "nn/positions.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/functions.h"
#include "core/error.h"
#include "nn/init.h"

namespace heed::nn {

Tensor sinusoids(int64_t first, int64_t length, int64_t width) {
  HEED_CHECK(first >= 0 && length >= 0 && width > 0 && width % 2 == 0, "sinusoids",
             "pairs of sine and cosine want an even width: {} rows of {} from {}", length, width,
             first);
  std::vector<double> values;
  values.reserve(static_cast<size_t>(length * width));
  for (int64_t position = first; position < first + length; ++position) {
    for (int64_t pair = 0; pair < width; pair += 2) {
      const double exponent = static_cast<double>(pair) / static_cast<double>(width);
      const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
      values.push_back(std::sin(angle));
      values.push_back(std::cos(angle));
    }
  }
  return Tensor::from_vector(values, {length, width});
}

PositionEncoding::PositionEncoding(Positions positions, int64_t width, int64_t context,
                                   double deviation, Generator& generator)
    : context_(context) {
  HEED_CHECK(context > 0, "positions", "the context {} is not positive", context);
  if (positions == Positions::learned) {
    weight_ = register_parameter("weight", Tensor::empty({context, width}));
    init_normal(weight_, deviation, generator);
  } else if (positions == Positions::sinusoidal) {
    // The context costs nothing to write down: rows past 16 MiB are computed when they are needed.
    constexpr int64_t most_values = int64_t{1} << 21;
    table_ = sinusoids(0, std::min(context, most_values / width + 1), width);
  }
}

std::optional<int64_t> PositionEncoding::limit() const {
  return weight_.defined() ? std::optional(context_) : std::nullopt;
}

Tensor PositionEncoding::forward(const Tensor& x, int64_t first) const {
  HEED_CHECK(x.rank() == 3, "positions", "x (B, T, C) is expected, not {}", x.shape().to_string());
  const int64_t end = first + x.dim(1);
  if (weight_.defined()) {
    HEED_CHECK(end <= context_, "positions",
               "position {} is past the end of the learned table: the context is {}", end - 1,
               context_);
    return x + slice(weight_, 0, first, end);
  }
  if (table_.defined()) {
    const Tensor rows =
        end <= table_.dim(0) ? slice(table_, 0, first, end) : sinusoids(first, x.dim(1), x.dim(2));
    return x + to_dtype(rows, x.dtype());
  }
  return x;
}

}  // namespace heed::nn
