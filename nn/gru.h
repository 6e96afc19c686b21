#pragma once

#include <string>
#include <vector>

#include "core/export.h"
#include "nn/layers.h"
#include "nn/module.h"
#include "nn/sequence.h"

namespace heed::nn {

// The weights of one layer in one direction, gates ordered r, z, n (docs/numerics.md).
struct GruWeights {
  Tensor input;           // (3H, I)
  Tensor recurrent;       // (3H, H)
  Tensor input_bias;      // (3H)
  Tensor recurrent_bias;  // (3H)
};

// One step of one layer: weight_ih, weight_hh, bias_ih, bias_hh, uniform in +-1 / sqrt(H).
class HEED_EXPORT GruCell : public Module {
 public:
  GruCell(int64_t in, int64_t hidden, Generator& generator);
  Tensor forward(const Tensor& x, const Tensor& h) const;  // (B, in), (B, H) -> (B, H)

  GruWeights weights;
};

struct GruOptions {
  int64_t layers = 1;
  bool bidirectional = false;
  double dropout = 0;  // between layers
};

struct GruOutput {
  Tensor states;             // (B, T, H) or (B, T, 2H): forward, then backward; 0 at padding
  std::vector<Tensor> last;  // (B, H) of each layer and direction (forward, backward, forward ..)
};

// Gated recurrent units over sequences (Cho et al. 2014), PyTorch's names (weight_ih_l0,
// weight_hh_l0_reverse, ...) and formula. Padding, NaN included, never enters a state: a row stops
// at its length, and backwards it starts there.
class HEED_EXPORT Gru : public Module {
 public:
  Gru(int64_t in, int64_t hidden, const GruOptions& options, Generator& generator);
  // x (B, T, in); mask from padding_mask (undefined: no padding). States start at 0.
  GruOutput forward(const Tensor& x, const Tensor& mask) const;

  int64_t hidden() const { return hidden_; }
  // Of layer l, direction d: weights()[l * directions + d].
  const std::vector<GruWeights>& weights() const { return weights_; }

 private:
  // All states (T of (B, H)) of one layer in one direction.
  std::vector<Tensor> run(const GruWeights& weights, const Tensor& x,
                          const std::vector<Tensor>& step_masks, bool backward) const;

  int64_t hidden_;
  GruOptions options_;
  std::vector<GruWeights> weights_;
  Dropout dropout_;
};

}  // namespace heed::nn
