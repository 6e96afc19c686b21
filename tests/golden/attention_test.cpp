#include "nn/attention.h"

#include <functional>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "nn/sequence.h"
#include "nn/transformer_layers.h"
#include "tests/golden/golden.h"

namespace heed::test {
namespace {

using nn::Mask;

Mask padding_of(const Golden& golden, const Tensor& keys) {
  return Mask::padding(golden.lengths(), keys.dim(1));
}

// y (B, T, C) or (B, H, T, S) with zeros for queries at padding, where anything may come out.
Tensor real_queries(const Golden& golden, const Tensor& y) {
  Shape shape = Shape::filled(y.rank(), 1);
  shape[0] = y.dim(0);
  shape[y.rank() - 2] = y.dim(-2);
  const Tensor mask = nn::padding_mask(golden.lengths(), y.dim(-2));
  return where(reshape(mask, shape), y, Tensor::zeros({}, y.dtype()));
}

// --- multi-head attention ------------------------------------------------------------------------

// Output and gradients of the path without weights, output and weights of the one with them.
using Attend = std::function<nn::MultiHeadOutput(const nn::MultiHeadAttention&, bool with_weights)>;

void expect_attention(const Golden& golden, const nn::MultiHeadAttentionOptions& options,
                      const Attend& attend) {
  Generator generator(1);
  nn::MultiHeadAttention attention(options, generator);
  golden.load(attention);
  const auto [with, weights] = attend(attention, true);
  golden.expect_output("output", with);
  golden.expect_output("weights", weights);
  const Tensor output = attend(attention, false).output;
  golden.expect_output("output", output);
  backward(output, golden.input("cotangent"));
  golden.expect_gradients(attention);
  golden.expect_input_gradients();
}

nn::MultiHeadAttentionOptions sizes(int64_t width, int64_t heads) {
  nn::MultiHeadAttentionOptions options;
  options.width = width;
  options.heads = heads;
  return options;
}

TEST_P(Parity, SelfAttention) {
  const Golden golden = this->golden("self_attention");
  expect_attention(golden, sizes(12, 3),
                   [&](const nn::MultiHeadAttention& attention, bool with_weights) {
                     return attention.forward(golden.input("x"), {}, with_weights);
                   });
}

TEST_P(Parity, SelfAttentionCausal) {
  const Golden golden = this->golden("self_attention_causal");
  expect_attention(golden, sizes(12, 3),
                   [&](const nn::MultiHeadAttention& attention, bool with_weights) {
                     return attention.forward(golden.input("x"), Mask::causal(), with_weights);
                   });
}

TEST_P(Parity, SelfAttentionMaskedAndPadded) {
  const Golden golden = this->golden("self_attention_masked");
  const Tensor& x = golden.input("x");
  const Mask mask = Mask::allowing(golden.input("allowed")) & padding_of(golden, x);
  expect_attention(
      golden, sizes(12, 3), [&](const nn::MultiHeadAttention& attention, bool with_weights) {
        const auto [output, weights] = attention.forward(x, mask, with_weights);
        return nn::MultiHeadOutput{real_queries(golden, output),
                                   with_weights ? real_queries(golden, weights) : Tensor()};
      });
}

// Causal with fewer queries than keys, and padded keys.
void expect_cross_attention(const Golden& golden, const nn::MultiHeadAttentionOptions& options) {
  const Tensor& key = golden.input("key");
  const Mask mask = Mask::causal() & padding_of(golden, key);
  expect_attention(golden, options,
                   [&](const nn::MultiHeadAttention& attention, bool with_weights) {
                     return attention.forward(golden.input("query"), key, golden.input("value"),
                                              mask, with_weights);
                   });
}

TEST_P(Parity, CrossAttention) { expect_cross_attention(golden("cross_attention"), sizes(8, 2)); }

nn::MultiHeadAttentionOptions widths() {
  nn::MultiHeadAttentionOptions options = sizes(8, 2);
  options.key_width = 6;
  options.value_width = 10;
  return options;
}

TEST_P(Parity, CrossAttentionKeyAndValueWidths) {
  expect_cross_attention(golden("cross_attention_widths"), widths());
}

TEST_P(Parity, CrossAttentionOverManyKeys) {
  expect_cross_attention(golden("cross_attention_long"), widths());
}

// --- layers --------------------------------------------------------------------------------------

nn::TransformerLayerOptions post_relu() {
  nn::TransformerLayerOptions options;
  options.width = 12;
  options.heads = 3;
  options.ffn_width = 20;
  return options;
}

nn::TransformerLayerOptions pre_gelu() {
  nn::TransformerLayerOptions options = post_relu();
  options.norm_placement = nn::NormPlacement::pre;
  options.activation = nn::Activation::gelu;
  return options;
}

void expect_encoder_layer(const Golden& golden, const nn::TransformerLayerOptions& options) {
  Generator generator(1);
  nn::EncoderLayer layer(options, generator);
  golden.load(layer);
  const Tensor& x = golden.input("x");
  const Tensor y = real_queries(golden, layer.forward(x, padding_of(golden, x)));
  golden.expect_output("y", y);
  backward(y, golden.input("cotangent"));
  golden.expect_gradients(layer);
  golden.expect_input_gradients();
}

TEST_P(Parity, EncoderLayerPostNormRelu) {
  expect_encoder_layer(golden("encoder_layer_post_relu"), post_relu());
}

TEST_P(Parity, EncoderLayerPreNormGelu) {
  expect_encoder_layer(golden("encoder_layer_pre_gelu"), pre_gelu());
}

void expect_decoder_layer(const Golden& golden, const nn::TransformerLayerOptions& options) {
  Generator generator(1);
  nn::DecoderLayer layer(options, generator);
  golden.load(layer);
  const Tensor& memory = golden.input("memory");
  const Mask padding = padding_of(golden, memory);
  const Tensor y =
      layer.forward(golden.input("x"), Mask::causal(), layer.project(memory, padding), padding)
          .output;
  golden.expect_output("y", y);
  backward(y, golden.input("cotangent"));
  golden.expect_gradients(layer);
  golden.expect_input_gradients();
}

TEST_P(Parity, DecoderLayerPostNormRelu) {
  expect_decoder_layer(golden("decoder_layer_post_relu"), post_relu());
}

TEST_P(Parity, DecoderLayerPreNormGelu) {
  expect_decoder_layer(golden("decoder_layer_pre_gelu"), pre_gelu());
}

}  // namespace
}  // namespace heed::test
