#include <algorithm>
#include <utility>

#include "autograd/functions.h"
#include "core/random.h"
#include "nn/decoding.h"
#include "nn/init.h"
#include "train/bench/synthetic.h"
#include "train/bench/training_workloads.h"

namespace heed::train {
namespace {

// Forward and backward of causal attention alone, straight from a projection.
class AttentionWorkload final : public Workload {
 public:
  AttentionWorkload() {
    Generator generator(1);
    for (Tensor* x : {&query_, &key_, &value_, &cotangent_}) {
      *x = Tensor::empty({1, heads, length, head_width}, DType::f32);
      nn::init_normal(*x, 1, generator);
    }
    for (const Tensor* x : {&query_, &key_, &value_}) {
      set_requires_grad(*x, true);
    }
  }

  void run() override {
    for (const Tensor* x : {&query_, &key_, &value_}) {
      clear_gradient(*x);
    }
    AttentionOptions causal;
    causal.causal = true;
    output_ = scaled_dot_product_attention(query_, key_, value_, causal);
    backward(output_, cotangent_);
  }
  int64_t tokens() const override { return length; }
  // Two products forward and five backward over the half that is not masked.
  double flops() const override {
    return 7.0 * static_cast<double>(heads * length * length * head_width);
  }

 private:
  static constexpr int64_t heads = 8;
  static constexpr int64_t length = 4096;
  static constexpr int64_t head_width = 64;
  Tensor query_, key_, value_, cotangent_, output_;
};

// 256 tokens one by one with a cache, the likeliest each time.
class GenerateWorkload final : public Workload {
 public:
  void run() override {
    const auto state = model_.start(1);
    Tensor token = Tensor::from_vector(std::vector<int32_t>{first}, {1, 1});
    for (int64_t i = 0; i < count; ++i) {
      const auto logits = model_.step(*state, token).to_vector<float>();
      const auto likeliest = std::ranges::max_element(logits) - logits.begin();
      token = Tensor::from_vector(std::vector<int32_t>{static_cast<int32_t>(likeliest)}, {1, 1});
    }
  }
  int64_t tokens() const override { return count; }
  double flops() const override { return 2.0 * static_cast<double>(weights() * count); }
  double weight_bytes() const override {
    return static_cast<double>(weights() * count) * static_cast<double>(sizeof(float));
  }

 private:
  static constexpr int64_t count = 256;
  static constexpr int32_t first = 4;
  int64_t weights() const { return product_weights(model_); }

  Generator generator_{1};
  nn::CausalLm model_{gpt_medium(), generator_};
};

// A thousand sentences of 8 to 24 words by beam search, each to its own length: an untrained model
// would not end.
class TranslateWorkload final : public Workload {
 public:
  TranslateWorkload() {
    for (int64_t begin = 0; begin < sentences; begin += batch) {
      const int64_t rows = std::min(batch, sentences - begin);
      const int64_t length = 8 + begin * 17 / sentences;
      batches_.push_back({synthetic_ids({rows, length}, vocabulary(), static_cast<uint64_t>(begin)),
                          std::vector<int64_t>(static_cast<size_t>(rows), length)});
      tokens_ += rows * length;
    }
  }

  void run() override {
    nn::DecodingOptions options;
    options.beam_size = beam;
    for (const nn::PaddedIds& source : batches_) {
      options.min_length = options.max_length = source.width();
      nn::decode(model_, source, options);
    }
  }
  int64_t tokens() const override { return tokens_; }
  // The encoder and the keys' projection read a sentence once, what decodes is used by each
  // hypothesis.
  double flops() const override {
    int64_t once = 0;
    for (const NamedTensor& entry : model_.named_parameters()) {
      if (entry.name.starts_with("encoder.") || entry.name.starts_with("attention.key")) {
        once += entry.tensor.rank() == 2 ? entry.tensor.numel() : 0;
      }
    }
    const int64_t decoding = product_weights(model_) - once;
    return 2.0 * static_cast<double>((once + beam * decoding) * tokens_);
  }

 private:
  static constexpr int64_t sentences = 1000;
  static constexpr int64_t batch = 64;
  static constexpr int64_t beam = 5;
  static int64_t vocabulary() { return bench_rnnsearch().source_vocabulary; }

  Generator generator_{1};
  nn::RnnTranslator model_{bench_rnnsearch(), generator_};
  std::vector<nn::PaddedIds> batches_;
  int64_t tokens_ = 0;
};

template <typename T>
std::unique_ptr<Workload> make() {
  return std::make_unique<T>();
}

}  // namespace

const std::vector<BenchPreset>& bench_presets() {
  static const std::vector<BenchPreset> presets = {
      {"gpt-small", "train a causal LM: 4 layers, 4 heads, 128 wide, context 64, batch 12",
       train_gpt_small},
      {"gpt-medium", "train a causal LM: 6 layers, 6 heads, 384 wide, context 256, batch 8",
       train_gpt_medium},
      {"rnnsearch", "train RNNsearch: 256 wide, vocabulary 8,000, 64 pairs of length 16",
       train_rnnsearch},
      {"transformer",
       "train a Transformer: 3+3 layers, 8 heads, 256 wide, ffn 512, 64 pairs of length 16",
       train_transformer},
      {"attention", "causal attention, forward and backward: 8 heads of 64, length 4,096",
       make<AttentionWorkload>},
      {"generate", "256 tokens from gpt-medium, one by one with a cache", make<GenerateWorkload>},
      {"translate", "1,000 sentences of 8 to 24 words by rnnsearch, beam 5",
       make<TranslateWorkload>},
  };
  return presets;
}

}  // namespace heed::train
