#include "nn/gru.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "autograd/functions.h"
#include "core/error.h"
#include "nn/init.h"
#include "nn/sequence.h"

namespace heed::nn {
namespace {

using Register = std::function<Tensor(const std::string&, const Tensor&)>;

GruWeights make_weights(int64_t in, int64_t hidden, const std::string& suffix, Generator& generator,
                        const Register& add) {
  const GruWeights weights{add("weight_ih" + suffix, Tensor::empty({3 * hidden, in})),
                           add("weight_hh" + suffix, Tensor::empty({3 * hidden, hidden})),
                           add("bias_ih" + suffix, Tensor::empty({3 * hidden})),
                           add("bias_hh" + suffix, Tensor::empty({3 * hidden}))};
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden));
  for (const Tensor& tensor :
       {weights.input, weights.recurrent, weights.input_bias, weights.recurrent_bias}) {
    init_uniform(tensor, -bound, bound, generator);
  }
  return weights;
}

}  // namespace

GruCell::GruCell(int64_t in, int64_t hidden, Generator& generator)
    : weights(make_weights(in, hidden, "", generator,
                           [this](const std::string& name, const Tensor& tensor) {
                             return register_parameter(name, tensor);
                           })) {}

Tensor GruCell::forward(const Tensor& x, const Tensor& h) const {
  return gru_cell(linear(x, weights.input, weights.input_bias),
                  linear(h, weights.recurrent, weights.recurrent_bias), h);
}

Gru::Gru(int64_t in, int64_t hidden, const GruOptions& options, Generator& generator)
    : hidden_(hidden), options_(options), dropout_(options.dropout) {
  HEED_CHECK(in > 0 && hidden > 0 && options.layers > 0, "gru",
             "sizes are positive: in {}, hidden {}, layers {}", in, hidden, options.layers);
  const int directions = options.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    for (int direction = 0; direction < directions; ++direction) {
      weights_.push_back(
          make_weights(layer == 0 ? in : directions * hidden, hidden,
                       fmt::format("_l{}{}", layer, direction == 0 ? "" : "_reverse"), generator,
                       [this](const std::string& name, const Tensor& tensor) {
                         return register_parameter(name, tensor);
                       }));
    }
  }
  register_module("dropout", dropout_);
}

std::vector<Tensor> Gru::run(const GruWeights& weights, const Tensor& x,
                             const std::vector<Tensor>& step_masks, bool backward) const {
  // The input products of all steps are one product.
  const auto gates = unstack(linear(x, weights.input, weights.input_bias), 1);
  const auto steps = static_cast<int64_t>(gates.size());
  std::vector<Tensor> states(gates.size());
  Tensor h = Tensor::zeros({x.dim(0), hidden_}, x.dtype(), x.device());
  for (int64_t i = 0; i < steps; ++i) {
    const auto t = static_cast<size_t>(backward ? steps - 1 - i : i);
    h = gru_cell(gates[t], linear(h, weights.recurrent, weights.recurrent_bias), h, step_masks[t]);
    states[t] = h;
  }
  return states;
}

GruOutput Gru::forward(const Tensor& x, const Tensor& mask) const {
  HEED_CHECK(x.rank() == 3 && x.dim(1) > 0, "gru", "x (B, T, I) with T > 0 is expected: {}",
             x.shape().to_string());
  const int64_t steps = x.dim(1);
  std::vector<Tensor> step_masks(static_cast<size_t>(steps));
  if (mask.defined()) {
    step_masks = unstack(mask, 1);
  }
  GruOutput output;
  Tensor layer_input = clear_padding(x, mask);
  size_t next = 0;
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    std::vector<Tensor> directions;
    for (int direction = 0; direction < (options_.bidirectional ? 2 : 1); ++direction) {
      const bool backward = direction == 1;
      const auto states = run(weights_[next++], layer_input, step_masks, backward);
      output.last.push_back(backward ? states.front() : states.back());
      directions.push_back(stack(states, 1));
    }
    output.states =
        clear_padding(directions.size() == 1 ? directions.front() : concat(directions, 2), mask);
    if (layer + 1 < options_.layers) {
      layer_input = dropout_.forward(output.states);
    }
  }
  return output;
}

}  // namespace heed::nn
