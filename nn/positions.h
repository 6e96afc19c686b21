#pragma once

#include <cstdint>
#include <optional>

#include "core/export.h"
#include "core/random.h"
#include "nn/module.h"

namespace heed::nn {

// How a network learns the order of its tokens. Rotary positions live in attention.
enum class Positions { none, sinusoidal, learned, rotary };

// Rows first .. first + length - 1 of the sinusoids (Vaswani et al. 2017, 3.5), (length, width),
// f64: sin(p / 10000^(2i/width)) at 2i, the cosine of the same angle at 2i + 1. width is even.
HEED_EXPORT Tensor sinusoids(int64_t first, int64_t length, int64_t width);

// Adds to embeddings what `positions` puts there: sinusoids, a learned row (weight (context,
// width), normal), or nothing.
class HEED_EXPORT PositionEncoding : public Module {
 public:
  PositionEncoding(Positions positions, int64_t width, int64_t context, double deviation,
                   Generator& generator);
  // x (B, T, width) at positions first .. first + T - 1. Throws Error past the limit.
  Tensor forward(const Tensor& x, int64_t first = 0) const;
  // The longest sequence; only a learned table has one.
  std::optional<int64_t> limit() const;

 private:
  int64_t context_;
  Tensor weight_;  // learned
  Tensor table_;   // sinusoids of the first `context` positions
};

}  // namespace heed::nn
