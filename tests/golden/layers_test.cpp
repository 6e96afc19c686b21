#include "nn/layers.h"

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "nn/gru.h"
#include "nn/sequence.h"
#include "tests/golden/golden.h"

namespace heed::test {
namespace {

TEST_P(Parity, Gru) {
  const Golden golden = this->golden("gru");
  Generator generator(1);
  nn::Gru gru(5, 4, {.layers = 2, .bidirectional = true}, generator);
  golden.load(gru);
  const Tensor& x = golden.input("x");
  const auto [states, last] = gru.forward(x, nn::padding_mask(golden.lengths(), x.dim(1)));
  golden.expect_output("states", states);
  golden.expect_output("last", stack(last, 0));
  backward(sum(states * golden.input("cotangent")) +
           sum(stack(last, 0) * golden.input("last_cotangent")));
  golden.expect_gradients(gru);
  golden.expect_input_gradients();
}

TEST_P(Parity, GruCell) {
  const Golden golden = this->golden("gru_cell");
  Generator generator(1);
  nn::GruCell cell(5, 7, generator);
  golden.load(cell);
  const Tensor h = cell.forward(golden.input("x"), golden.input("h"));
  golden.expect_output("h", h);
  backward(h, golden.input("cotangent"));
  golden.expect_gradients(cell);
  golden.expect_input_gradients();
}

TEST_P(Parity, LayerNorm) {
  const Golden golden = this->golden("layer_norm");
  nn::LayerNorm norm(11, 1e-3);
  golden.load(norm);
  const Tensor y = norm.forward(golden.input("x"));
  golden.expect_output("y", y);
  backward(y, golden.input("cotangent"));
  golden.expect_gradients(norm);
  golden.expect_input_gradients();
}

TEST_P(Parity, EmbeddingWithPadding) {
  const Golden golden = this->golden("embedding");
  Generator generator(1);
  nn::Embedding embedding(7, 5, generator, 2);
  golden.load(embedding);
  const Tensor y = embedding.forward(golden.input("ids"));
  golden.expect_output("y", y);
  backward(y, golden.input("cotangent"));
  golden.expect_gradients(embedding);
}

TEST_P(Parity, Activations) {
  const Golden golden = this->golden("activations");
  const Tensor& x = golden.input("x");
  const std::vector<std::pair<std::string, Tensor>> outputs = {
      {"relu", relu(x)}, {"gelu", gelu(x)}, {"gelu_tanh", gelu_tanh(x)}, {"silu", silu(x)}};
  for (const auto& [name, y] : outputs) {
    golden.expect_output(name, y);
    clear_gradient(x);
    backward(y, golden.input("cotangent"));
    golden.expect_output(name + "_gradient", gradient(x));
  }
}

TEST_P(Parity, CrossEntropyWithSmoothingAndIgnoredRows) {
  const Golden golden = this->golden("cross_entropy");
  const Tensor& logits = golden.input("logits");
  for (const auto& [name, smoothing] : {std::pair("plain", 0.0), std::pair("smoothed", 0.1)}) {
    clear_gradient(logits);
    const auto [loss, nll] = cross_entropy(logits, golden.input("targets"),
                                           {.label_smoothing = smoothing, .ignore_index = 3});
    golden.expect_output(name, loss);
    golden.expect_output("plain", nll);
    backward(loss);
    golden.expect_output(name + std::string("_gradient"), gradient(logits));
  }
}

}  // namespace
}  // namespace heed::test
