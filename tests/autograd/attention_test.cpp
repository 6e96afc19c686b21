#include "autograd/functions/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "core/memory.h"
#include "core/threads.h"
#include "kernels/backend.h"
#include "tests/support/expect_close.h"

// Both paths of attention: worked examples by hand, and what masks promise.
namespace heed {
namespace {

using Values = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor of(const Values& values, const Shape& shape) { return Tensor::from_vector(values, shape); }

Tensor random(const Shape& shape, uint64_t stream) {
  Generator generator(3, stream);
  Values values;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(2 * generator.uniform() - 1);
  }
  return of(values, shape);
}

Tensor mask_of(const std::vector<bool>& values, const Shape& shape) {
  return Tensor::from_vector(values, shape);
}

// Runs each test with the fused kernels and without.
class Attention : public testing::TestWithParam<bool> {
 protected:
  Attention() { kernels::set_fused_kernels(GetParam()); }
  ~Attention() override { kernels::set_fused_kernels(true); }
};
INSTANTIATE_TEST_SUITE_P(Paths, Attention, testing::Values(true, false),
                         [](const auto& path) { return path.param ? "Fused" : "Composed"; });

const Values three_values = {2, 0, 0, 4, 2, 2};

// --- worked examples ---------------------------------------------------------------------------

TEST_P(Attention, WeightsAverageTheValues) {
  // Scores ln 2, 0, 0 at scale 1 give weights 0.5, 0.25, 0.25.
  const Tensor query = of({std::log(2.0), 0}, {1, 1, 1, 2});
  const Tensor key = of({1, 0, 0, 1, 0, -1}, {1, 1, 3, 2});
  const Tensor value = of(three_values, {1, 1, 3, 2});
  AttentionOptions options;
  options.scale = 1;
  test::expect_close(scaled_dot_product_attention(query, key, value, options).to_doubles(),
                     {1.5, 1.5}, 1e-14);
  test::expect_close(attention_with_weights(query, key, value, options).weights.to_doubles(),
                     {0.5, 0.25, 0.25}, 1e-14);
}

TEST_P(Attention, WorkedExample) {
  const Tensor query = of({1, 0}, {1, 1, 1, 2});
  const Tensor key = of({1, 0, 0, 1, 1, 1}, {1, 1, 3, 2});
  const Tensor value = of(three_values, {1, 1, 3, 2});
  test::expect_close(scaled_dot_product_attention(query, key, value).to_doubles(),
                     {1.604448, 1.593327}, 1e-6);
  test::expect_close(attention_with_weights(query, key, value).weights.to_doubles(),
                     {0.401112, 0.197776, 0.401112}, 1e-6);
  AttentionOptions options;
  options.mask = mask_of({true, true, false}, {3});
  test::expect_close(scaled_dot_product_attention(query, key, value, options).to_doubles(),
                     {1.339523, 1.320954}, 1e-6);
  const Values weights = attention_with_weights(query, key, value, options).weights.to_doubles();
  test::expect_close(weights, {0.669762, 0.330238, 0}, 1e-6);
  EXPECT_EQ(weights[2], 0);
}

TEST_P(Attention, ValuesHaveTheirOwnWidthAndHeadsAreOptional) {
  const Tensor query = random({2, 3, 4}, 1);
  const Tensor key = random({2, 5, 4}, 2);
  const Tensor value = random({2, 5, 6}, 3);
  const AttentionWithWeights both = attention_with_weights(query, key, value);
  EXPECT_EQ(both.weights.shape().to_string(), "(2, 3, 5)");
  EXPECT_EQ(both.output.shape().to_string(), "(2, 3, 6)");
  const Tensor output = scaled_dot_product_attention(query, key, value);
  test::expect_close(output, both.output, 1e-14);
  const Tensor with_heads =
      scaled_dot_product_attention(unsqueeze(query, 1), unsqueeze(key, 1), unsqueeze(value, 1));
  EXPECT_EQ(with_heads.shape().to_string(), "(2, 1, 3, 6)");
  test::expect_close(squeeze(with_heads, 1), output, 0);
}

TEST_P(Attention, AMaskWithoutHeadsBroadcastsOverTheBatch) {
  const Tensor query = random({2, 2, 3}, 1);
  const Tensor key = random({2, 2, 3}, 2);
  AttentionOptions options;
  options.mask = mask_of({true, false, true, true, false, true, true, false}, {2, 2, 2});
  const Tensor all = scaled_dot_product_attention(query, key, key, options);
  for (int64_t b = 0; b < 2; ++b) {
    AttentionOptions one;
    one.mask = slice(options.mask, 0, b, b + 1);
    const Tensor k = slice(key, 0, b, b + 1);
    test::expect_close(slice(all, 0, b, b + 1),
                       scaled_dot_product_attention(slice(query, 0, b, b + 1), k, k, one), 1e-14);
  }
}

// The last query sees all keys, whichever of the two are more.
TEST_P(Attention, CausalIsAlignedBottomRight) {
  const auto seen = [](int64_t queries, int64_t keys) {
    AttentionOptions options;
    options.causal = true;
    // Equal scores and one-hot values: the output is the weights.
    Values identity(static_cast<size_t>(keys * keys), 0.0);
    for (int64_t s = 0; s < keys; ++s) {
      identity[static_cast<size_t>(s * (keys + 1))] = 1;
    }
    return scaled_dot_product_attention(Tensor::zeros({1, queries, 2}, DType::f64),
                                        Tensor::zeros({1, keys, 2}, DType::f64),
                                        of(identity, {1, keys, keys}), options)
        .to_doubles();
  };
  test::expect_close(seen(2, 3), {0.5, 0.5, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-15);
  test::expect_close(seen(3, 2), {0, 0, 1, 0, 0.5, 0.5}, 1e-15);
  test::expect_close(seen(1, 2), {0.5, 0.5}, 1e-15);
}

// --- masks -------------------------------------------------------------------------------------

struct Results {
  Values output, dquery, dkey, dvalue;
};

Results run(const Tensor& query, const Tensor& key, const Tensor& value,
            const AttentionOptions& options, const Tensor& cotangent = {}) {
  for (const Tensor& x : {query, key, value}) {
    set_requires_grad(x);
  }
  const Tensor output = scaled_dot_product_attention(query, key, value, options);
  backward(output, cotangent.defined() ? cotangent : random(output.shape(), 9));
  return {output.to_doubles(), gradient(query).to_doubles(), gradient(key).to_doubles(),
          gradient(value).to_doubles()};
}

void expect_same(const Results& actual, const Results& expected) {
  EXPECT_EQ(actual.output, expected.output);
  EXPECT_EQ(actual.dquery, expected.dquery);
  EXPECT_EQ(actual.dkey, expected.dkey);
  EXPECT_EQ(actual.dvalue, expected.dvalue);
}

void expect_close(const Results& actual, const Results& expected, double tolerance) {
  test::expect_close(actual.output, expected.output, tolerance);
  test::expect_close(actual.dquery, expected.dquery, tolerance);
  test::expect_close(actual.dkey, expected.dkey, tolerance);
  test::expect_close(actual.dvalue, expected.dvalue, tolerance);
}

TEST_P(Attention, ARowThatMayAttendToNothingGivesZeroAndNoGradient) {
  AttentionOptions options;
  options.mask = mask_of({true, false, false, false, true, true}, {3, 2});
  const Results some =
      run(random({1, 3, 2}, 1), random({1, 2, 2}, 2), random({1, 2, 3}, 3), options);
  EXPECT_EQ(Values(some.output.begin() + 3, some.output.begin() + 6), Values(3, 0.0));
  EXPECT_EQ(Values(some.dquery.begin() + 2, some.dquery.begin() + 4), Values(2, 0.0));
  options.mask = mask_of({false}, {1});
  const Results none =
      run(random({1, 3, 2}, 1), random({1, 2, 2}, 2), random({1, 2, 3}, 3), options);
  EXPECT_EQ(none.output, Values(9, 0.0));
  EXPECT_EQ(none.dquery, Values(6, 0.0));
  EXPECT_EQ(none.dkey, Values(4, 0.0));
  EXPECT_EQ(none.dvalue, Values(6, 0.0));
}

TEST_P(Attention, RowsOverNoKeysGiveZero) {
  const Results empty = run(random({1, 2, 3}, 1), random({1, 0, 3}, 2), random({1, 0, 2}, 3), {});
  EXPECT_EQ(empty.output, Values(4, 0.0));
  EXPECT_EQ(empty.dquery, Values(6, 0.0));
}

// The numbers of `x` with `what` in the given rows of its last but one dimension.
Tensor spoilt(const Tensor& x, const std::vector<int64_t>& rows, double what) {
  const Tensor y = x.clone();
  for (const int64_t row : rows) {
    kernels::backend(y).fill(y.as_strided({x.dim(-1)}, {1}, row * x.dim(-1)), what);
  }
  return y;
}

TEST_P(Attention, MaskedKeysAndValuesReachNothing) {
  const Tensor query = random({1, 3, 2}, 1);
  const Tensor key = random({1, 4, 2}, 2);
  const Tensor value = random({1, 4, 3}, 3);
  AttentionOptions options;
  options.mask = mask_of({true, false, true, false}, {4});
  const Results clean = run(query.clone(), key.clone(), value.clone(), options);
  EXPECT_EQ(Values(clean.dkey.begin() + 2, clean.dkey.begin() + 4), Values(2, 0.0));
  for (const double what : {nan, infinity, -infinity}) {
    const Results run_spoilt =
        run(query.clone(), spoilt(key, {1, 3}, what), spoilt(value, {1, 3}, what), options);
    expect_close(run_spoilt, clean, 1e-14);
    EXPECT_EQ(run_spoilt.dkey[2], 0);
    EXPECT_EQ(run_spoilt.dvalue[3], 0);
  }
}

// A key that only the last query may see spoils that query alone.
TEST_P(Attention, WhatIsMaskedForOneQueryReachesOnlyTheOthers) {
  const Tensor query = random({1, 3, 2}, 1);
  const Tensor key = random({1, 3, 2}, 2);
  const Tensor value = random({1, 3, 3}, 3);
  AttentionOptions causal;
  causal.causal = true;
  const Results clean = run(query.clone(), key.clone(), value.clone(), causal);
  const Results bad = run(query.clone(), spoilt(key, {2}, nan), spoilt(value, {2}, nan), causal);
  test::expect_close(Values(bad.output.begin(), bad.output.begin() + 6),
                     Values(clean.output.begin(), clean.output.begin() + 6), 1e-14);
  test::expect_close(Values(bad.dquery.begin(), bad.dquery.begin() + 4),
                     Values(clean.dquery.begin(), clean.dquery.begin() + 4), 1e-14);
  for (size_t i = 6; i < 9; ++i) {
    EXPECT_TRUE(std::isnan(bad.output[i]));
  }
}

// A query that is spoilt by a key, by a value or from the start leaves the keys it may not see
// alone.
TEST_P(Attention, ASpoiltQuerySpoilsOnlyTheKeysItSees) {
  AttentionOptions options;
  options.mask = mask_of({true, true, false, false, false, true}, {2, 3});
  const Tensor query = random({1, 2, 2}, 1);
  const Tensor key = random({1, 3, 2}, 2);
  const Tensor value = random({1, 3, 3}, 3);
  const Results clean = run(query.clone(), key.clone(), value.clone(), options);
  for (const double what : {nan, infinity}) {
    for (const Results& bad :
         {run(query.clone(), spoilt(key, {2}, what), value.clone(), options),
          run(query.clone(), key.clone(), spoilt(value, {2}, what), options),
          run(spoilt(query, {1}, what), key.clone(), value.clone(), options)}) {
      test::expect_close(Values(bad.dkey.begin(), bad.dkey.begin() + 4),
                         Values(clean.dkey.begin(), clean.dkey.begin() + 4), 1e-14);
      test::expect_close(Values(bad.dvalue.begin(), bad.dvalue.begin() + 6),
                         Values(clean.dvalue.begin(), clean.dvalue.begin() + 6), 1e-14);
    }
  }
}

// What stands in the query of a row that may attend to nothing reaches no key.
TEST_P(Attention, AQueryThatMayAttendToNothingReachesNothing) {
  const Tensor query = random({1, 2, 2}, 1);
  const Tensor key = random({1, 3, 2}, 2);
  const Tensor value = random({1, 3, 3}, 3);
  AttentionOptions options;
  options.mask = mask_of({true, false}, {2, 1});
  const Results clean = run(query.clone(), key.clone(), value.clone(), options);
  expect_close(run(spoilt(query, {1}, nan), key.clone(), value.clone(), options), clean, 1e-14);
}

TEST_P(Attention, ACotangentOfARowThatMayAttendToNothingReachesNothing) {
  AttentionOptions masked;
  masked.mask = mask_of({true, true, false, false, false, false}, {2, 3});
  AttentionOptions causal;
  causal.causal = true;  // with more queries than keys
  for (const AttentionOptions& options : {masked, causal}) {
    const int64_t queries = options.causal ? 4 : 2;
    const int64_t empty = options.causal ? 0 : 1;
    const Tensor cotangent = random({1, queries, 3}, 4);
    const auto run_with = [&](const Tensor& dy) {
      return run(random({1, queries, 2}, 1), random({1, 3, 2}, 2), random({1, 3, 3}, 3), options,
                 dy);
    };
    for (const double what : {nan, infinity}) {
      expect_close(run_with(spoilt(cotangent, {empty}, what)), run_with(cotangent), 1e-14);
    }
  }
}

// A bias of -inf is a weight of 0, and a row of them a row that attends to nothing.
TEST_P(Attention, ABiasOfMinusInfinityMasks) {
  AttentionOptions biased;
  biased.bias = of({0, -infinity, 0, -infinity, -infinity, -infinity}, {2, 3});
  AttentionOptions masked;
  masked.mask = mask_of({true, false, true, false, false, false}, {2, 3});
  const auto run_with = [](const AttentionOptions& options) {
    return run(random({2, 2, 4}, 1), random({2, 3, 4}, 2), random({2, 3, 5}, 3), options);
  };
  expect_close(run_with(biased), run_with(masked), 1e-14);
}

TEST_P(Attention, ChangesBehindAQueryLeaveItsBitsAlone) {
  AttentionOptions causal;
  causal.causal = true;
  const auto output = [&](double last) {
    const auto x = [&](uint64_t stream) { return spoilt(random({1, 37, 8}, stream), {36}, last); };
    const Values all = scaled_dot_product_attention(x(1), x(2), x(3), causal).to_doubles();
    return Values(all.begin(), all.end() - 8);
  };
  EXPECT_EQ(output(0.5), output(-3));
}

// --- a bias that is a mask ---------------------------------------------------------------------

TEST(AttentionBias, OfZerosAndOnesIsTakenForAMaskAndWarnedOfOnce) {
  const Tensor x = random({1, 3, 2}, 1);
  const auto said = [&](const Tensor& bias) {
    AttentionOptions options;
    options.bias = bias;
    testing::internal::CaptureStderr();
    scaled_dot_product_attention(x, x, x, options);
    attention_with_weights(x, x, x, options);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(Tensor::zeros({3, 3}, DType::f64)), "");
  EXPECT_EQ(said(of({0, -infinity, 0}, {3})), "");
  EXPECT_EQ(said(of({0, 1, 1, 0, 1, 0.5, 1, 1, 1}, {3, 3})), "");
  EXPECT_EQ(said(transpose(of({1, 0, 0, 1, 1, 0, 1, 1, 1}, {3, 3}))),
            "[scaled_dot_product_attention] warning: the bias (3, 3) holds only 0 and 1, which are "
            "added to the scores: to say who may be attended, pass booleans as `mask` (true = may "
            "attend)\n");
  EXPECT_EQ(said(of({1, 0, 1}, {3})), "") << "once";
}

// --- dropout -----------------------------------------------------------------------------------

TEST_P(Attention, DropoutDrawsOneNumberAWeight) {
  const Tensor query = random({2, 3, 5, 4}, 1);
  const Tensor key = random({2, 3, 7, 4}, 2);
  const Tensor value = random({2, 3, 7, 2}, 3);
  AttentionOptions options;
  const Tensor weights = attention_with_weights(query, key, value, options).weights;
  options.dropout = 0.4;
  const RandomState before{5, 3, 2};
  default_generator().set_state(before);
  const Tensor output = scaled_dot_product_attention(query, key, value, options);
  EXPECT_EQ(default_generator().state(), (RandomState{5, 3, 2 + 2 * 3 * 5 * 7}));
  Generator same(before);
  const Tensor dropped = dropout(weights, 0.4, same);
  test::expect_close(output, matmul(dropped, value), 1e-14);
  default_generator().set_state(before);
  test::expect_close(attention_with_weights(query, key, value, options).weights, dropped, 0);
  default_generator().set_state({});
}

// --- layouts -----------------------------------------------------------------------------------

TEST_P(Attention, ReadsHeadsOutOfAProjection) {
  const int64_t batch = 2, length = 5, heads = 3, width = 4;
  const Tensor projection = random({batch, length, 3, heads, width}, 1);
  const auto part = [&](int64_t i) {
    return transpose(squeeze(slice(projection, 2, i, i + 1), 2), 1, 2);
  };
  const Results strided = run(part(0), part(1), part(2), {});
  const Results dense = run(part(0).clone(), part(1).clone(), part(2).clone(), {});
  expect_same(strided, dense);
}

// --- fused against composed --------------------------------------------------------------------

TEST(AttentionTwins, GiveTheSameOverTheEdgesOfTiles) {
  struct Sizes {
    int64_t queries, keys, width, value_width;
  };
  for (const Sizes& n :
       {Sizes{97, 97, 16, 16}, {101, 263, 5, 3}, {211, 67, 3, 7}, {1, 150, 8, 8}}) {
    for (const bool causal : {false, true}) {
      for (const double p : {0.0, 0.25}) {
        SCOPED_TRACE(fmt::format("{} queries, {} keys, causal {}, dropout {}", n.queries, n.keys,
                                 causal, p));
        AttentionOptions options;
        options.causal = causal;
        options.dropout = p;
        options.bias = random({n.keys}, 5);
        std::vector<bool> may;
        for (int64_t i = 0; i < 2 * n.keys; ++i) {
          may.push_back(i % 5 != 0);
        }
        options.mask = mask_of(may, {2, 1, 1, n.keys});
        const auto results = [&](bool fused) {
          kernels::set_fused_kernels(fused);
          default_generator().set_state({1, 3, 5});
          const Results r =
              run(random({2, 2, n.queries, n.width}, 1), random({2, 2, n.keys, n.width}, 2),
                  random({2, 2, n.keys, n.value_width}, 3), options);
          kernels::set_fused_kernels(true);
          default_generator().set_state({});
          return r;
        };
        expect_close(results(true), results(false), 1e-13);
      }
    }
  }
}

TEST(AttentionTwins, CanBeCalledByName) {
  const Tensor x = random({2, 3, 4}, 1);
  AttentionOptions causal;
  causal.causal = true;
  test::expect_close(composed::scaled_dot_product_attention(x, x, x, causal),
                     scaled_dot_product_attention(x, x, x, causal), 1e-14);
}

// --- memory ------------------------------------------------------------------------------------

// Copies for each query would be 8 MiB; the scores are 32 KiB.
TEST(AttentionMemory, NanThatIsAttendedAnywayCostsTheComposedPathNoCopies) {
  const int64_t length = 64, width = 256;
  const Tensor x = random({2, length, width}, 1);
  const Tensor one_bad_sentence = x.clone();
  kernels::backend(x).fill(one_bad_sentence.as_strided({length * width}, {1}, 0), nan);
  AttentionOptions causal;
  causal.causal = true;
  AttentionOptions padded = causal;
  std::vector<bool> real(static_cast<size_t>(2 * length), true);
  std::fill(real.end() - 5, real.end(), false);
  padded.mask = mask_of(real, {2, 1, length});
  for (const AttentionOptions& options : {causal, padded}) {
    for (const Tensor& bad :
         {Tensor::full({2, length, width}, nan, DType::f64), one_bad_sentence}) {
      const int64_t before = device_memory(default_device()).statistics().in_use;
      device_memory(default_device()).reset_peak();
      const Tensor output = composed::scaled_dot_product_attention(bad, bad, bad, options);
      EXPECT_LT(device_memory(default_device()).statistics().peak_in_use - before, 2 << 20);
      EXPECT_TRUE(std::isnan(output.to_doubles().front()));
    }
  }
}

// Where the scores alone would be 512 MiB. Scratch comes from the same allocator.
TEST(AttentionMemory, GrowsWithTheLengthAlone) {
  // An emulated device takes its time.
  const bool emulated = default_device().kind == DeviceKind::cuda;
  const int64_t heads = emulated ? 1 : 8;
  const int64_t longest = emulated ? 1024 : 4096;
  const int threads = thread_count();
  set_thread_count(2);
  const auto beyond_arguments = [&](int64_t length) {
    std::vector<Tensor> inputs;
    for (int i = 0; i < 3; ++i) {
      inputs.push_back(Tensor::full({1, heads, length, 64}, 0.1 * i));
      set_requires_grad(inputs.back());
    }
    const Tensor cotangent = Tensor::full({1, heads, length, 64}, 1);
    AttentionOptions causal;
    causal.causal = true;
    const int64_t before = device_memory(default_device()).statistics().in_use;
    device_memory(default_device()).reset_peak();
    backward(scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], causal), cotangent);
    const int64_t output_and_gradients = 4 * heads * length * 64 * 4;
    return device_memory(default_device()).statistics().peak_in_use - before - output_and_gradients;
  };
  const int64_t at_longest = beyond_arguments(longest);
  EXPECT_GT(at_longest, 0);
  EXPECT_LE(at_longest, heads * longest * longest * 4 / 8);
  EXPECT_LE(at_longest, 8 * beyond_arguments(longest / 8));
  set_thread_count(threads);
}

}  // namespace
}  // namespace heed
