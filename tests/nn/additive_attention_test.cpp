#include "nn/additive_attention.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

struct ByHand {
  Values context, weights;
};

// One query over the annotations of one sentence; allowed[s] says where it may look.
ByHand attend(const AdditiveAttention& attention, const Values& query,
              const std::vector<Values>& annotations, const std::vector<bool>& allowed) {
  const Values q = affine_by_hand(attention.query.weight.to_doubles(), {}, query);
  const Values w = attention.score.to_doubles();
  ByHand result{Values(annotations.front().size(), 0.0), Values(annotations.size(), 0.0)};
  double total = 0;
  for (size_t s = 0; s < annotations.size(); ++s) {
    if (!allowed[s]) {
      continue;
    }
    const Values k = affine_by_hand(attention.key.weight.to_doubles(),
                                    attention.key.bias.to_doubles(), annotations[s]);
    double energy = 0;
    for (size_t a = 0; a < w.size(); ++a) {
      energy += w[a] * std::tanh(q[a] + k[a]);
    }
    result.weights[s] = std::exp(energy);
    total += result.weights[s];
  }
  for (size_t s = 0; s < annotations.size() && total > 0; ++s) {
    result.weights[s] /= total;
    for (size_t c = 0; c < result.context.size(); ++c) {
      result.context[c] += result.weights[s] * annotations[s][c];
    }
  }
  return result;
}

class AdditiveAttentionTest : public testing::Test {
 protected:
  AdditiveAttentionTest() {
    attention_.convert(DType::f64);
    randomize(attention_, 1.5);
  }

  void expect_by_hand(const Tensor& mask) {
    const AdditiveAttentionResult found =
        attention_.forward(query_, attention_.prepare(annotations_, mask));
    EXPECT_EQ(found.context.shape(), Shape({3, 4}));
    EXPECT_EQ(found.weights.shape(), Shape({3, 3}));
    const auto all = rows_of(annotations_);
    const auto flags = mask.defined() ? mask.to_vector<bool>() : std::vector<bool>(9, true);
    for (int64_t b = 0; b < 3; ++b) {
      const auto row = static_cast<size_t>(b);
      const ByHand expected =
          attend(attention_, rows_of(query_)[row], {all.begin() + 3 * b, all.begin() + 3 * b + 3},
                 {flags.begin() + 3 * b, flags.begin() + 3 * b + 3});
      expect_close(rows_of(found.context)[row], expected.context, 1e-12);
      expect_close(rows_of(found.weights)[row], expected.weights, 1e-12);
    }
  }

  struct Run {
    Values context, weights, query_gradient, annotation_gradient;
    std::map<std::string, Values> gradients;
  };
  // Everything that comes out of attending, gradients of a random loss included.
  Run run(const Tensor& annotation_values, const Tensor& mask) {
    const Tensor query = query_.clone();
    const Tensor annotations = annotation_values.clone();
    set_requires_grad(query);
    set_requires_grad(annotations);
    attention_.clear_gradients();
    const AdditiveAttentionResult found =
        attention_.forward(query, attention_.prepare(annotations, mask));
    backward(sum(found.context * random_tensor({3, 4}, DType::f64, 3)) +
             sum(found.weights * random_tensor({3, 3}, DType::f64, 4)));
    return {found.context.to_doubles(), found.weights.to_doubles(), gradient(query).to_doubles(),
            gradient(annotations).to_doubles(), gradients_of(attention_)};
  }

  Generator generator_{2};
  AdditiveAttention attention_{2, 4, 5, generator_};
  Tensor query_ = random_tensor({3, 2}, DType::f64, 1);
  Tensor annotations_ = random_tensor({3, 3, 4}, DType::f64, 2);
  Tensor mask_ = padding_mask({2, 3, 0}, 3);
};

TEST_F(AdditiveAttentionTest, FollowsThePaper) {
  expect_by_hand({});
  expect_by_hand(mask_);
  const ComposedScope composed;
  expect_by_hand({});
  expect_by_hand(mask_);
}

TEST_F(AdditiveAttentionTest, ARowThatMayNotLookAnywhereGivesZerosAndNoGradient) {
  const Run found = run(annotations_, mask_);
  const auto last = [](const Values& values, int64_t count) {
    return Values(values.end() - count, values.end());
  };
  EXPECT_EQ(last(found.context, 4), Values(4, 0.0));
  EXPECT_EQ(last(found.weights, 3), Values(3, 0.0));
  EXPECT_EQ(last(found.query_gradient, 2), Values(2, 0.0));
  EXPECT_EQ(last(found.annotation_gradient, 12), Values(12, 0.0));
  attention_.clear_gradients();
  const Tensor nowhere = padding_mask({0, 0, 0}, 3);
  for (const auto& [name, values] : run(annotations_, nowhere).gradients) {
    EXPECT_EQ(values, Values(values.size(), 0.0)) << name;
  }
}

TEST_F(AdditiveAttentionTest, NothingMaskedReachesAnything) {
  const Tensor dirty = where(unsqueeze(mask_, -1), annotations_, Tensor::scalar(nan, DType::f64));
  const auto expect_same = [&] {
    const Run expected = run(annotations_, mask_);
    const Run found = run(dirty, mask_);
    expect_close(found.context, expected.context, 0);
    expect_close(found.weights, expected.weights, 0);
    expect_close(found.query_gradient, expected.query_gradient, 0);
    expect_close(found.annotation_gradient, expected.annotation_gradient, 0);
    expect_close(found.gradients, expected.gradients, 0);
  };
  expect_same();
  const ComposedScope composed;
  expect_same();
}

TEST_F(AdditiveAttentionTest, PassesGradcheckFusedAndComposed) {
  const auto check = [&](const Tensor& mask) {
    return gradcheck_module(attention_,
                            [&](const std::vector<Tensor>& inputs) {
                              const auto found = attention_.forward(
                                  inputs[0], attention_.prepare(inputs[1], mask));
                              return concat({found.context, found.weights}, 1);
                            },
                            {query_, annotations_});
  };
  EXPECT_THAT(check({}), PassesGradcheck());
  EXPECT_THAT(check(mask_), PassesGradcheck());
  const ComposedScope composed;
  EXPECT_THAT(check(mask_), PassesGradcheck());
}

TEST_F(AdditiveAttentionTest, NamesItsParameters) {
  std::vector<std::string> found;
  for (const NamedTensor& entry : attention_.named_parameters()) {
    found.push_back(entry.name + " " + entry.tensor.shape().to_string());
  }
  EXPECT_EQ(found, (std::vector<std::string>{"score (5)", "query.weight (5, 2)",
                                             "key.weight (5, 4)", "key.bias (5)"}));
}

}  // namespace
}  // namespace heed::nn::test
