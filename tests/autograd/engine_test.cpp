#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <limits>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "tests/support/error_of.h"
#include "tests/support/set_element.h"

namespace heed {
namespace {

using Values = std::vector<double>;

Tensor leaf(const Values& values) {
  const Tensor x = Tensor::from_vector(values, {static_cast<int64_t>(values.size())});
  set_requires_grad(x);
  return x;
}

// An op that passes x on and whose backward returns what it is told to.
Tensor returning(const Tensor& x, const std::function<Gradients()>& gradients) {
  return record("custom", {x}, x.clone(),
                [gradients](const BackwardContext&) { return gradients(); });
}

// --- accumulation ------------------------------------------------------------------------------

TEST(Engine, GradientsOfAllUsesAddUp) {
  const Tensor x = leaf({2, 3});
  backward(sum(x * x + x));
  EXPECT_EQ(gradient(x).to_doubles(), Values({5, 7}));
  // The same through an intermediate.
  const Tensor y = leaf({1, -1});
  const Tensor h = y * 2.0;
  backward(sum(h * h + h));
  EXPECT_EQ(gradient(y).to_doubles(), Values({10, -6}));
}

TEST(Engine, BackwardAddsToTheGradientUntilItIsCleared) {
  const Tensor x = leaf({2, 3});
  backward(sum(x * 3.0));
  backward(sum(x * 3.0));
  EXPECT_EQ(gradient(x).to_doubles(), Values({6, 6}));
  clear_gradient(x);
  EXPECT_FALSE(gradient(x).defined());
  backward(sum(x * 3.0));
  EXPECT_EQ(gradient(x).to_doubles(), Values({3, 3}));
}

// add hands both operands the very same cotangent.
TEST(Engine, LeavesDoNotShareTheirGradients) {
  const Tensor a = leaf({1, 2});
  const Tensor b = leaf({3, 4});
  const Tensor cotangent = Tensor::from_vector<double>({5, 6}, {2});
  backward(a + b, cotangent);
  EXPECT_FALSE(gradient(a).shares_storage(gradient(b)));
  EXPECT_FALSE(gradient(a).shares_storage(cotangent));
  test::set_element(gradient(a), 0, 100);
  EXPECT_EQ(gradient(b).to_doubles(), Values({5, 6}));
  EXPECT_EQ(cotangent.to_doubles(), Values({5, 6}));
}

// x gets one cotangent that y holds too and one that z holds: their sum needs memory of its own.
TEST(Engine, AccumulatingLeavesSharedCotangentsAlone) {
  const Tensor a = leaf({1, 2});
  const Tensor b = leaf({3, 4});
  const Tensor c = leaf({5, 6});
  const Tensor x = negate(a);
  const Tensor y = negate(b);
  const Tensor z = negate(c);
  const Tensor weight_of_y = Tensor::from_vector<double>({2, 3}, {2});
  const Tensor weight_of_z = Tensor::from_vector<double>({10, 20}, {2});
  backward(sum((x + y) * weight_of_y + (x + z) * weight_of_z));
  EXPECT_EQ(gradient(a).to_doubles(), Values({-12, -23}));
  EXPECT_EQ(gradient(b).to_doubles(), Values({-2, -3}));
  EXPECT_EQ(gradient(c).to_doubles(), Values({-10, -20}));
}

TEST(Engine, ExpandedGradientOfALeafIsMaterialised) {
  const Tensor x = leaf({1, 2, 3});
  backward(sum(x));
  ASSERT_TRUE(gradient(x).is_contiguous());
  test::set_element(gradient(x), 0, 7);
  EXPECT_EQ(gradient(x).to_doubles(), Values({7, 1, 1}));
}

TEST(Engine, UnusedOutputsCountAsZero) {
  const Tensor x = leaf({1, 2, 3});
  const std::vector<Tensor> parts = unstack(x, 0);
  backward(parts[1] * 4.0);
  EXPECT_EQ(gradient(x).to_doubles(), Values({0, 4, 0}));
}

TEST(Engine, LeafIsItsOwnOutput) {
  const Tensor x = leaf({1, 2});
  backward(x, Tensor::from_vector<double>({3, 4}, {2}));
  EXPECT_EQ(gradient(x).to_doubles(), Values({3, 4}));
}

TEST(Engine, OnlyWhatIsNeededIsAskedFor) {
  const Tensor x = leaf({1, 2});
  const Tensor constant = Tensor::from_vector<double>({3, 4}, {2});
  bool needs_first = false;
  bool needs_second = true;
  backward(sum(
      record("custom", {x, constant}, x.clone(), [&](const BackwardContext& context) -> Gradients {
        needs_first = context.needs(0);
        needs_second = context.needs(1);
        return {context.cotangent(), Tensor()};
      })));
  EXPECT_TRUE(needs_first);
  EXPECT_FALSE(needs_second);
  EXPECT_FALSE(gradient(constant).defined());
}

// --- recording ---------------------------------------------------------------------------------

TEST(Engine, NothingIsRecordedWithoutNeedOrInNoGradScope) {
  const Tensor x = leaf({1, 2});
  EXPECT_FALSE(requires_grad(square(x.detach())));
  EXPECT_TRUE(requires_grad(square(x)));
  {
    const NoGradScope outer;
    { const NoGradScope inner; }
    EXPECT_FALSE(recording());
    EXPECT_FALSE(requires_grad(square(x)));
  }
  EXPECT_TRUE(recording());
  EXPECT_TRUE(requires_grad(square(x)));
}

TEST(Engine, FrozenLeafGathersNothing) {
  const Tensor x = leaf({1, 2});
  const Tensor w = leaf({3, 4});
  set_requires_grad(w, false);
  backward(sum(x * w));
  EXPECT_EQ(gradient(x).to_doubles(), Values({3, 4}));
  EXPECT_FALSE(gradient(w).defined());
}

TEST(Engine, OnlyFloatingLeavesCanBeMarked) {
  EXPECT_EQ(test::error_of([] { set_requires_grad(Tensor::zeros({2}, DType::i32)); }),
            "[requires_grad] only f32 and f64 tensors have gradients, this one is i32 (2)");
  EXPECT_EQ(test::error_of([] {
              set_requires_grad(square(leaf({1, 2})));
            }),
            "[requires_grad] the tensor (2) was computed by square; only leaves can be marked");
}

// --- what backward refuses ---------------------------------------------------------------------

TEST(Engine, OutputHasToDependOnSomething) {
  EXPECT_EQ(test::error_of([] { backward(Tensor::zeros({}, DType::f64)); }),
            "[backward] the output () depends on nothing that requires a gradient");
}

TEST(Engine, CotangentHasToFit) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(test::error_of([&] { backward(square(x)); }),
            "[backward] an output of shape (2) needs a cotangent; only one element does without");
  EXPECT_EQ(test::error_of([&] { backward(square(x), Tensor::zeros({3}, DType::f64)); }),
            "[backward] the cotangent does not match the output: f64 (3) and f64 (2)");
  EXPECT_EQ(test::error_of([&] { backward(square(x), Tensor::zeros({2}, DType::f32)); }),
            "[backward] the cotangent does not match the output: f32 (2) and f64 (2)");
}

TEST(Engine, SavedTensorChangedInPlaceIsNamed) {
  const Tensor x = leaf({1, 2});
  const Tensor y = exponential(x);
  test::set_element(y, 0, 0);
  y.bump_version();
  EXPECT_EQ(test::error_of([&] { backward(sum(y)); }),
            "[exponential] a tensor saved for backward was changed in place: f64 (2), version 0 "
            "then, 1 now");
}

TEST(Engine, ChangeThroughAViewIsSeenToo) {
  const Tensor x = leaf({1, 2});
  const Tensor y = square(x);
  const Tensor view = slice(x, 0, 0, 1).detach();
  view.bump_version();
  EXPECT_EQ(test::error_of([&] { backward(sum(y)); }),
            "[square] a tensor saved for backward was changed in place: f64 (2), version 0 then, "
            "1 now");
}

TEST(Engine, SecondBackwardNeedsRetainGraph) {
  const Tensor x = leaf({1, 2});
  const Tensor y = sum(square(x));
  backward(y);
  EXPECT_EQ(test::error_of([&] { backward(y); }),
            "[backward] the graph of sum () was freed by an earlier backward; compute it again, or "
            "pass retain_graph to the first");
  // A part of it that another output still uses is gone too.
  const Tensor shared = square(x);
  backward(sum(shared));
  EXPECT_EQ(test::error_of([&] { backward(sum(shared * 2.0)); }),
            "[backward] the graph of square (2) was freed by an earlier backward; compute it "
            "again, or pass retain_graph to the first");
}

TEST(Engine, RetainedGraphRunsAgain) {
  const Tensor x = leaf({1, 2});
  const Tensor y = sum(square(x));
  backward(y, {}, true);
  backward(y, {}, true);
  backward(y);
  EXPECT_EQ(gradient(x).to_doubles(), Values({6, 12}));
}

TEST(Engine, WhatABackwardReturnsIsChecked) {
  const Tensor x = leaf({1, 2});
  const auto refused = [&](const Gradients& gradients) {
    return test::error_of([&] { backward(sum(returning(x, [&] { return gradients; }))); });
  };
  EXPECT_EQ(refused({}), "[custom] backward returned 0 gradients for 1 inputs");
  EXPECT_EQ(refused({Tensor::zeros({2}, DType::f64), Tensor()}),
            "[custom] backward returned 2 gradients for 1 inputs");
  EXPECT_EQ(refused({Tensor::zeros({3}, DType::f64)}),
            "[custom] backward returned a gradient of shape (3) for input 0 of shape (2)");
  EXPECT_EQ(refused({Tensor::zeros({2}, DType::f32)}),
            "[custom] backward returned a gradient of dtype f32 for input 0 of dtype f64");
  EXPECT_FALSE(gradient(x).defined());
  EXPECT_EQ(refused({Tensor()}), "no error");
  EXPECT_FALSE(gradient(x).defined());
}

// --- check_finite ------------------------------------------------------------------------------

class CheckFinite : public testing::Test {
 protected:
  CheckFinite() { set_check_finite(true); }
  ~CheckFinite() override { set_check_finite(false); }
};

TEST_F(CheckFinite, NamesTheOpOfTheFirstBadOutput) {
  const Tensor x = leaf({1, -1});
  EXPECT_EQ(test::error_of([&] { exponential(logarithm(x)); }),
            "[check_finite] logarithm made inf or NaN: output 0 (2)");
}

TEST_F(CheckFinite, NamesTheOpOfTheFirstBadGradient) {
  const Tensor x = leaf({4, 0});
  EXPECT_EQ(test::error_of([&] { backward(sum(square_root(x) * 2.0)); }),
            "[check_finite] square_root made inf or NaN: in backward, the gradient of input 0 (2)");
}

TEST(Engine, WithoutCheckFiniteInfinityPasses) {
  ASSERT_FALSE(check_finite());
  const Tensor x = leaf({4, 0});
  backward(sum(square_root(x)));
  EXPECT_EQ(gradient(x).to_doubles(), Values({0.25, std::numeric_limits<double>::infinity()}));
}

// --- depth -------------------------------------------------------------------------------------

Tensor chain(const Tensor& x, int length) {
  Tensor y = x;
  for (int i = 0; i < length; ++i) {
    y = negate(y);
  }
  return y;
}

constexpr int very_long = 200'000;

TEST(Engine, DepthCostsNoStack) {
  const Tensor x = leaf({3});
  backward(chain(x, very_long));
  EXPECT_EQ(gradient(x).to_doubles(), Values({1}));
}

TEST(Engine, RetainedDeepGraphIsDestroyed) {
  const Tensor x = leaf({3});
  backward(chain(x, very_long + 1), {}, true);
  EXPECT_EQ(gradient(x).to_doubles(), Values({-1}));
}

TEST(Engine, DeepGraphIsDestroyedWithoutBackward) {
  const Tensor x = leaf({3});
  chain(x, very_long);
  EXPECT_FALSE(gradient(x).defined());
}

// Tensors of static lifetime are destroyed after the objects of the thread that ends the program.
TEST(EngineDeathTest, AGraphMayOutliveTheThreadsOwnObjects) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static Tensor kept;
        const Tensor x = leaf({1});
        kept = chain(x, 10);
        chain(x, 10);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace heed
