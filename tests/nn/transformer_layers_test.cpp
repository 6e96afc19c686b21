#include "nn/transformer_layers.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

TransformerLayerOptions sized(NormPlacement placement, NormKind norm = NormKind::layer,
                              bool gated = false, bool bias = true) {
  TransformerLayerOptions options;
  options.width = 4;
  options.heads = 2;
  options.ffn_width = 6;
  options.norm_placement = placement;
  options.norm = norm;
  options.activation = gated ? Activation::silu : Activation::relu;
  options.gated = gated;
  options.bias = bias;
  return options;
}

template <typename Layer>
std::unique_ptr<Layer> make(const TransformerLayerOptions& options) {
  Generator generator(1);
  auto layer = std::make_unique<Layer>(options, generator);
  layer->convert(DType::f64);
  randomize(*layer, 1);
  return layer;
}

template <typename Stack>
std::unique_ptr<Stack> make(const TransformerLayerOptions& options, int64_t layers) {
  Generator generator(1);
  auto stack = std::make_unique<Stack>(options, layers, generator);
  stack->convert(DType::f64);
  randomize(*stack, 1);
  return stack;
}

// The parameters under a prefix, without it.
std::vector<NamedTensor> under(const Module& module, const std::string& prefix) {
  std::vector<NamedTensor> found;
  for (const NamedTensor& entry : module.named_parameters()) {
    if (entry.name.starts_with(prefix)) {
      found.push_back({entry.name.substr(prefix.size()), entry.tensor});
    }
  }
  return found;
}

// A part of its own with the weights that stand in the layer under a name.
template <typename Part>
void take(Part& part, const Module& layer, const std::string& prefix) {
  part.convert(DType::f64);
  part.load_parameters(under(layer, prefix), prefix);
}

// The parts of a layer by their names; each is held to its formula by a test of its own.
struct Parts {
  Parts(const Module& layer, const TransformerLayerOptions& options, bool decodes)
      : own(attention(options)), across(attention(options)), norms(3) {
    take(own, layer, "self_attn.");
    if (decodes) {
      take(across, layer, "multihead_attn.");
    }
    for (size_t i = 0; i < (decodes ? 3 : 2); ++i) {
      norms[i] = make_norm(options.norm, options.width, options.bias);
      take(*norms[i], layer, fmt::format("norm{}.", i + 1));
    }
    for (const NamedTensor& entry : layer.named_parameters()) {
      p[entry.name] = entry.tensor;
    }
  }

  static MultiHeadAttention attention(const TransformerLayerOptions& options) {
    MultiHeadAttentionOptions result;
    result.width = options.width;
    result.heads = options.heads;
    result.bias = options.bias;
    Generator generator(2);
    return MultiHeadAttention(result, generator);
  }

  Tensor feed_forward(const Tensor& x) {
    const auto project = [&](const std::string& name, const Tensor& in) {
      return linear(in, p.at(name + ".weight"), p[name + ".bias"]);
    };
    const Tensor inner = project("linear1", x);
    return project("linear2", p.contains("linear_gate.weight")
                                  ? silu(project("linear_gate", x)) * inner
                                  : relu(inner));
  }

  MultiHeadAttention own;
  MultiHeadAttention across;
  std::vector<std::unique_ptr<Norm>> norms;
  std::map<std::string, Tensor> p;
};

struct LayerCase {
  std::string name;
  TransformerLayerOptions options;
};

const LayerCase layer_cases[] = {
    {"post", sized(NormPlacement::post)},
    {"pre", sized(NormPlacement::pre)},
    {"pre_rms_gated", sized(NormPlacement::pre, NormKind::rms, true)},
    {"post_without_bias", sized(NormPlacement::post, NormKind::layer, false, false)},
    {"pre_without_bias", sized(NormPlacement::pre, NormKind::layer, true, false)},
};

class TransformerLayerTest : public testing::TestWithParam<LayerCase> {
 protected:
  bool pre() const { return GetParam().options.norm_placement == NormPlacement::pre; }

  Tensor x_ = random_tensor({2, 3, 4}, DType::f64, 1);
  Tensor memory_ = random_tensor({2, 5, 4}, DType::f64, 2);
  Mask mask_ = Mask::causal() & Mask::padding({3, 2}, 3);
  Mask memory_mask_ = Mask::padding({4, 5}, 5);
};

INSTANTIATE_TEST_SUITE_P(All, TransformerLayerTest, testing::ValuesIn(layer_cases),
                         [](const auto& given) { return given.param.name; });

TEST_P(TransformerLayerTest, AnEncoderLayerIsItsPartsInOrder) {
  const auto layer = make<EncoderLayer>(GetParam().options);
  Parts parts(*layer, GetParam().options, false);
  const auto& norm = parts.norms;
  Tensor h = x_;
  if (pre()) {
    h = h + parts.own.forward(norm[0]->forward(h), mask_).output;
    h = h + parts.feed_forward(norm[1]->forward(h));
  } else {
    h = norm[0]->forward(h + parts.own.forward(h, mask_).output);
    h = norm[1]->forward(h + parts.feed_forward(h));
  }
  expect_close(layer->forward(x_, mask_), h, 1e-12);
}

TEST_P(TransformerLayerTest, ADecoderLayerIsItsPartsInOrder) {
  const auto layer = make<DecoderLayer>(GetParam().options);
  Parts parts(*layer, GetParam().options, true);
  const auto& norm = parts.norms;
  const auto across = [&](const Tensor& h) {
    return parts.across.forward(h, memory_, memory_, memory_mask_, true);
  };
  Tensor h = x_;
  MultiHeadOutput attended;
  if (pre()) {
    h = h + parts.own.forward(norm[0]->forward(h), mask_).output;
    attended = across(norm[1]->forward(h));
    h = h + attended.output;
    h = h + parts.feed_forward(norm[2]->forward(h));
  } else {
    h = norm[0]->forward(h + parts.own.forward(h, mask_).output);
    attended = across(h);
    h = norm[1]->forward(h + attended.output);
    h = norm[2]->forward(h + parts.feed_forward(h));
  }
  const KeysValues projected = layer->project(memory_, memory_mask_);
  const auto found = layer->forward(x_, mask_, projected, memory_mask_, true);
  expect_close(found.output, h, 1e-12);
  expect_close(found.weights, attended.weights, 1e-12);
  const auto without = layer->forward(x_, mask_, projected, memory_mask_);
  EXPECT_FALSE(without.weights.defined());
  expect_close(without.output, h, 1e-12);
}

TEST_P(TransformerLayerTest, StacksRunTheirLayersAndEndWithANormWhenNormsStandInFront) {
  const auto encoder = make<Encoder>(GetParam().options, 2);
  const auto decoder = make<Decoder>(GetParam().options, 2);
  const Mask padding = Mask::padding({3, 2}, 3);
  Tensor encoded = padding.clear_padding(x_);
  Tensor decoded = padding.clear_padding(x_);
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    Generator generator(1);
    EncoderLayer encodes(GetParam().options, generator);
    take(encodes, *encoder, layer);
    encoded = encodes.forward(encoded, padding.cleared());
    DecoderLayer decodes(GetParam().options, generator);
    take(decodes, *decoder, layer);
    const auto memory = decodes.project(memory_, memory_mask_);
    decoded = decodes.forward(decoded, mask_.cleared(), memory, memory_mask_).output;
  }
  if (pre()) {
    const auto norm = make_norm(GetParam().options.norm, 4, GetParam().options.bias);
    take(*norm, *encoder, "norm.");
    encoded = norm->forward(encoded);
    take(*norm, *decoder, "norm.");
    decoded = norm->forward(decoded);
  } else {
    EXPECT_TRUE(under(*encoder, "norm.").empty());
    EXPECT_TRUE(under(*decoder, "norm.").empty());
  }
  expect_close(encoder->forward(x_, padding), encoded, 1e-12);
  const auto found =
      decoder->forward(x_, mask_, decoder->project(memory_, memory_mask_), memory_mask_, true);
  expect_close(found.output, decoded, 1e-12);
  ASSERT_EQ(found.weights.size(), 2);
  EXPECT_EQ(found.weights[1].shape(), Shape({2, 2, 3, 5}));
}

TEST_P(TransformerLayerTest, PassesGradcheckFusedAndComposed) {
  const auto encoder = make<Encoder>(GetParam().options, 1);
  const auto decoder = make<Decoder>(GetParam().options, 1);
  const auto check = [&] {
    EXPECT_THAT(
        gradcheck_module(
            *encoder, [&](const std::vector<Tensor>& in) { return encoder->forward(in[0], mask_); },
            {x_}),
        PassesGradcheck());
    EXPECT_THAT(
        gradcheck_module(*decoder,
                         [&](const std::vector<Tensor>& in) {
                           const auto memory = decoder->project(in[1], memory_mask_);
                           return decoder->forward(in[0], mask_, memory, memory_mask_).output;
                         },
                         {x_, memory_}),
        PassesGradcheck());
  };
  check();
  const ComposedScope composed;
  check();
}

// A causal mask: what comes after a position does not reach it, in any bit.
TEST_P(TransformerLayerTest, TheFutureReachesNothing) {
  const auto encoder = make<Encoder>(GetParam().options, 2);
  const Tensor x = random_tensor({2, 9, 4}, DType::f32, 3);
  encoder->convert(DType::f32);
  const Tensor expected = encoder->forward(x, Mask::causal());
  for (const int64_t kept : {1, 4, 8}) {
    const Tensor other =
        concat({slice(x, 1, 0, kept), random_tensor({2, 9 - kept, 4}, DType::f32, 4)}, 1);
    const Tensor found = encoder->forward(other, Mask::causal());
    EXPECT_EQ(slice(found, 1, 0, kept).to_doubles(), slice(expected, 1, 0, kept).to_doubles());
    EXPECT_NE(slice(found, 1, kept, 9).to_doubles(), slice(expected, 1, kept, 9).to_doubles());
  }
}

TEST_P(TransformerLayerTest, PaddingReachesNothing) {
  const auto encoder = make<Encoder>(GetParam().options, 2);
  const auto decoder = make<Decoder>(GetParam().options, 2);
  const Mask padding = Mask::padding({4, 2}, 5);
  const Tensor real = padding_mask({4, 2}, 5);
  const auto run = [&](double filler) {
    encoder->clear_gradients();
    decoder->clear_gradients();
    const Tensor source = where(unsqueeze(real, -1), memory_, Tensor::scalar(filler, DType::f64));
    set_requires_grad(source);
    const auto memory = decoder->project(encoder->forward(source, padding), padding);
    const Tensor output = decoder->forward(x_, Mask::causal(), memory, padding).output;
    backward(sum(output * random_tensor({2, 3, 4}, DType::f64, 5)));
    auto found = gradients_of(*encoder);
    for (auto& [name, values] : gradients_of(*decoder)) {
      found["decoder." + name] = values;
    }
    found["source"] = gradient(source).to_doubles();
    found["output"] = output.to_doubles();
    return found;
  };
  expect_close(run(nan), run(0.5), 0);
  const ComposedScope composed;
  expect_close(run(nan), run(0.5), 0);
}

TEST(TransformerLayers, CachesContinueADecoder) {
  const auto decoder = make<Decoder>(sized(NormPlacement::pre), 2);
  const Tensor x = random_tensor({2, 6, 4}, DType::f64, 1);
  const NoGradScope no_grad;
  const auto memory = decoder->project(random_tensor({2, 5, 4}, DType::f64, 2));
  const Tensor whole = decoder->forward(x, Mask::causal(), memory).output;
  std::vector<KeyValueCache> caches(2);
  int64_t begin = 0;
  for (const int64_t count : {2, 1, 3}) {
    const Tensor part = slice(x, 1, begin, begin + count);
    expect_close(decoder->forward(part, Mask::causal(), memory, {}, false, &caches).output,
                 slice(whole, 1, begin, begin + count), 1e-13);
    begin += count;
  }
}

// Row 1 has no source at all: NaN where it would be, and nothing of it in any step.
TEST(TransformerLayers, StepsWithACacheOverASourceOfLengthZero) {
  for (const bool fused : {true, false}) {
    kernels::set_fused_kernels(fused);
    const auto decoder = make<Decoder>(sized(NormPlacement::pre), 2);
    const Mask padding = Mask::padding({3, 0}, 5);
    const Tensor real = unsqueeze(padding_mask({3, 0}, 5), -1);
    const Tensor x = random_tensor({2, 3, 4}, DType::f64, 1);
    const NoGradScope no_grad;
    const auto steps = [&](double filler) {
      const Tensor source =
          where(real, random_tensor({2, 5, 4}, DType::f64, 2), Tensor::scalar(filler, DType::f64));
      const auto memory = decoder->project(source, padding);
      std::vector<KeyValueCache> caches(2);
      std::vector<Tensor> outputs;
      for (int64_t step = 0; step < 3; ++step) {
        const DecoderOutput decoded = decoder->forward(slice(x, 1, step, step + 1), Mask::causal(),
                                                       memory, padding, step == 1, &caches);
        outputs.push_back(decoded.output);
        for (const Tensor& weights : decoded.weights) {
          expect_close(slice(weights, 0, 1, 2), Tensor::zeros({1, 2, 1, 5}, DType::f64), 0);
        }
      }
      return concat(outputs, 1);
    };
    const Tensor dirty = steps(nan);
    for (const double value : dirty.to_doubles()) {
      EXPECT_TRUE(std::isfinite(value));
    }
    expect_close(dirty, steps(0.5), 0);
  }
  kernels::set_fused_kernels(true);
}

// How many random numbers are drawn tells where: attention weights, each sublayer's output, and the
// units inside the feed-forward part.
TEST(TransformerLayers, DropOutAtEachPlaceInTrainingOnly) {
  auto options = sized(NormPlacement::post);
  options.dropout = 0.4;
  const auto encoder = make<Encoder>(options, 1);
  const auto decoder = make<Decoder>(options, 1);
  const Tensor x = random_tensor({2, 3, 4}, DType::f64, 1);
  const Tensor memory = random_tensor({2, 5, 4}, DType::f64, 2);
  const auto drawn = [](auto&& run) {
    const uint64_t before = default_generator().state().offset;
    run();
    return default_generator().state().offset - before;
  };
  const auto encode = [&] { return encoder->forward(x).to_doubles(); };
  const auto decode = [&] {
    return decoder->forward(x, {}, decoder->project(memory)).output.to_doubles();
  };
  const int64_t weights = 2 * 2 * 3;  // for each key
  const int64_t output = 2 * 3 * 4;
  const int64_t inner = 2 * 3 * 6;
  EXPECT_EQ(drawn(encode), weights * 3 + output + inner + output);
  EXPECT_EQ(drawn(decode), weights * 3 + output + weights * 5 + output + inner + output);
  EXPECT_NE(encode(), encode());
  const EvaluationScope encoder_evaluation(*encoder);
  const EvaluationScope decoder_evaluation(*decoder);
  EXPECT_EQ(drawn(encode) + drawn(decode), 0);
  EXPECT_EQ(encode(), encode());
}

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const NamedTensor& entry : module.named_parameters()) {
    names.push_back(entry.name);
  }
  return names;
}

TEST(TransformerLayers, HavePyTorchsNames) {
  const auto encoder = make<EncoderLayer>(sized(NormPlacement::post));
  EXPECT_EQ(names_of(*encoder),
            (std::vector<std::string>{
                "self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight",
                "self_attn.out_proj.bias", "linear1.weight", "linear1.bias", "linear2.weight",
                "linear2.bias", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"}));
  const auto decoder = make<DecoderLayer>(sized(NormPlacement::post, NormKind::rms, true, false));
  EXPECT_EQ(
      names_of(*decoder),
      (std::vector<std::string>{"self_attn.in_proj_weight", "self_attn.out_proj.weight",
                                "multihead_attn.in_proj_weight", "multihead_attn.out_proj.weight",
                                "linear1.weight", "linear_gate.weight", "linear2.weight",
                                "norm1.weight", "norm2.weight", "norm3.weight"}));
  const auto stack = make<Encoder>(sized(NormPlacement::pre), 2);
  EXPECT_EQ(stack->named_parameters().front().name, "layers.0.self_attn.in_proj_weight");
  EXPECT_EQ(stack->named_parameters().back().name, "norm.bias");
}

TEST(TransformerLayers, NameWhatWritesIntoTheResidualStream) {
  EXPECT_TRUE(is_residual_projection("layers.3.self_attn.out_proj.weight"));
  EXPECT_TRUE(is_residual_projection("layers.3.linear2.weight"));
  EXPECT_FALSE(is_residual_projection("layers.3.linear1.weight"));
  EXPECT_FALSE(is_residual_projection("layers.3.linear2.bias"));
}

TEST(TransformerLayers, AStackHasLayers) {
  EXPECT_EQ(error_of([] { make<Encoder>(sized(NormPlacement::pre), 0); }),
            "[encoder] 0 layers are none");
  EXPECT_EQ(error_of([] { make<Decoder>(sized(NormPlacement::pre), -1); }),
            "[decoder] -1 layers are none");
}

}  // namespace
}  // namespace heed::nn::test
