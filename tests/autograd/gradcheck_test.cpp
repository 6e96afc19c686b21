#include "autograd/gradcheck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "autograd/gradcheck_matcher.h"
#include "tests/support/error_of.h"

namespace heed {
namespace {

using testing::HasSubstr;
using testing::Not;
using Tensors = std::vector<Tensor>;

Tensor vector_of(const std::vector<double>& values) {
  return Tensor::from_vector(values, {static_cast<int64_t>(values.size())});
}

Tensor numbers(const Shape& shape) {
  Generator generator(3);
  std::vector<double> values;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(generator.normal());
  }
  return Tensor::from_vector(values, shape);
}

// x^2 whose backward returns factor * 2 x g, the last element times `last` besides.
Tensor square_with_backward(const Tensor& x, double factor, double last = 1) {
  return record("square_with_backward", {x}, square(x.detach()),
                [x = x.detach(), factor, last](const BackwardContext& context) -> Gradients {
                  std::vector<double> gradient;
                  const std::vector<double> g = context.cotangent().to_doubles();
                  const std::vector<double> values = x.to_doubles();
                  for (size_t i = 0; i < g.size(); ++i) {
                    gradient.push_back(factor * 2 * values[i] * g[i]);
                  }
                  gradient.back() *= last;
                  return {Tensor::from_vector(gradient, x.shape())};
                });
}

TEST(Gradcheck, CountsTheDerivativesOfAllInputs) {
  const GradcheckResult result =
      gradcheck([](const Tensors& in) { return Tensors{matmul(in[0], in[1])}; },
                {numbers({2, 3}), numbers({3, 4})});
  EXPECT_THAT(result, PassesGradcheck());
  EXPECT_EQ(result.checked, 6 + 12);
  EXPECT_EQ(result.kinks, 0);
  EXPECT_LT(result.worst_error, 1e-8);
  EXPECT_LT(result.worst_relative, 1e-8);
  EXPECT_EQ(result.message, "");
}

TEST(Gradcheck, InputsAreLeftAlone) {
  const Tensor x = numbers({3});
  const std::vector<double> before = x.to_doubles();
  expect_gradcheck([](const Tensors& in) { return Tensors{exponential(in[0])}; }, {x});
  EXPECT_FALSE(requires_grad(x));
  EXPECT_FALSE(gradient(x).defined());
  EXPECT_EQ(x.to_doubles(), before);
}

TEST(Gradcheck, NamesTheWorstDerivativeWithBothValuesAndErrors) {
  const GradcheckResult result =
      gradcheck([](const Tensors& in) { return Tensors{square_with_backward(in[1], 1, 1.5)}; },
                {numbers({2}), Tensor::full({2, 3}, 2.0, DType::f64)});
  EXPECT_EQ(result.outcome, GradcheckOutcome::mismatch);
  EXPECT_EQ(result.input, 1);
  EXPECT_EQ(result.index, "(1, 2)");
  EXPECT_NEAR(result.analytic, 1.5 * result.numeric, 1e-6);
  EXPECT_NEAR(result.worst_error, std::abs(0.5 * result.numeric), 1e-6);
  EXPECT_NEAR(result.worst_relative, 1.0 / 3, 1e-6);
  EXPECT_EQ(result.message,
            fmt::format("input 1 at (1, 2): analytic {:.6g}, numeric {:.6g}, error {:.3g} (allowed "
                        "1e-05 + 0.001 * |numeric|), relative 0.333; 1 of 8 derivatives differ",
                        result.analytic, result.numeric, result.worst_error));
}

TEST(Gradcheck, ToleratesWhatItWasAskedTo) {
  const auto two_percent_off = [](const Tensors& in) {
    return Tensors{square_with_backward(in[0], 1.02)};
  };
  EXPECT_THAT(gradcheck(two_percent_off, {numbers({5})}), Not(PassesGradcheck()));
  GradcheckOptions options;
  options.relative_tolerance = 0.05;
  EXPECT_THAT(gradcheck(two_percent_off, {numbers({5})}, options), PassesGradcheck());
}

TEST(Gradcheck, GradientThatIsNotANumberIsAMismatch) {
  const auto f = [](const Tensors& in) { return Tensors{square_with_backward(in[0], NAN)}; };
  const GradcheckResult result = gradcheck(f, {numbers({2})});
  EXPECT_EQ(result.outcome, GradcheckOutcome::mismatch);
  EXPECT_THAT(result.message, HasSubstr("2 of 2 derivatives differ"));
}

// Where a function is not finite nothing can be compared: that is no agreement.
TEST(Gradcheck, AFunctionThatIsNotFiniteIsAMismatch) {
  const auto logarithm = [](const Tensors& in) { return Tensors{heed::logarithm(in[0])}; };
  EXPECT_EQ(gradcheck(logarithm, {vector_of({-1})}).outcome, GradcheckOutcome::mismatch);
  const auto exponential = [](const Tensors& in) { return Tensors{heed::exponential(in[0])}; };
  EXPECT_EQ(gradcheck(exponential, {vector_of({709.7827})}).outcome, GradcheckOutcome::mismatch);
}

// What is masked is -inf, and stays so.
TEST(Gradcheck, EntriesThatStayInfiniteCountForNothing) {
  const auto masked = [](const Tensors& in) {
    const Tensor mask = Tensor::from_vector(std::vector<bool>{true, false, true}, {3});
    return Tensors{log_softmax(in[0], mask)};
  };
  EXPECT_THAT(gradcheck(masked, {numbers({3})}), PassesGradcheck());
}

TEST(Gradcheck, DependenceThatIsNotRecordedIsAMismatch) {
  const auto f = [](const Tensors& in) { return Tensors{square(in[0].detach())}; };
  EXPECT_EQ(gradcheck(f, {numbers({2})}).outcome, GradcheckOutcome::mismatch);
}

// A plain sum of a softmax is 1 whatever its input: a backward giving zeros would pass.
TEST(Gradcheck, ConstantSumOfSoftmaxHidesNothing) {
  const auto lost = [](const Tensors& in) {
    return Tensors{record("lost", {in[0]}, softmax(in[0].detach()),
                          [](const BackwardContext& context) -> Gradients {
                            return {Tensor::zeros(context.cotangent().shape(), DType::f64)};
                          })};
  };
  EXPECT_EQ(gradcheck(lost, {numbers({2, 4})}).outcome, GradcheckOutcome::mismatch);
}

TEST(Gradcheck, EveryOutputHasACotangentOfItsOwn) {
  const auto sum_and_difference = [](const Tensors& in) {
    return Tensors{in[0] + in[1], in[0] - in[1]};
  };
  expect_gradcheck(sum_and_difference, {numbers({3}), numbers({3})});
  const auto second_wrong = [](const Tensors& in) {
    return Tensors{square(in[0]), square_with_backward(in[0], 1.1)};
  };
  EXPECT_THAT(gradcheck(second_wrong, {numbers({3})}), Not(PassesGradcheck()));
}

TEST(Gradcheck, OutputMayBeAnInput) {
  const GradcheckResult result = gradcheck(
      [](const Tensors& in) {
        return Tensors{in[0], in[0]};
      },
      {numbers({3})});
  EXPECT_THAT(result, PassesGradcheck());
  EXPECT_EQ(result.checked, 3);
}

// --- kinks -------------------------------------------------------------------------------------

TEST(Gradcheck, KinkAtAnInputIsCountedAndNotAFailure) {
  const GradcheckResult result =
      gradcheck([](const Tensors& in) { return Tensors{relu(in[0])}; }, {vector_of({-1, 0, 2, 0})});
  EXPECT_THAT(result, PassesGradcheck());
  EXPECT_EQ(result.kinks, 2);
  EXPECT_EQ(result.checked, 2);
}

TEST(Gradcheck, KinkWithinAStepIsCounted) {
  for (const double x : {4e-7, -4e-7, 9e-7, 1e-7}) {
    const GradcheckResult result =
        gradcheck([](const Tensors& in) { return Tensors{relu(in[0])}; }, {vector_of({x})});
    EXPECT_THAT(result, PassesGradcheck());
    EXPECT_EQ(result.kinks, 1) << x;
  }
}

TEST(Gradcheck, EqualOperandsOfAMaximumAreKinks) {
  const GradcheckResult two =
      gradcheck([](const Tensors& in) { return Tensors{maximum(in[0], in[1])}; },
                {vector_of({1, 2}), vector_of({1, 5})});
  EXPECT_THAT(two, PassesGradcheck());
  EXPECT_EQ(two.kinks, 2);
  const GradcheckResult shared =
      gradcheck([](const Tensors& in) { return Tensors{max(in[0], 0)}; }, {vector_of({3, 3, 1})});
  EXPECT_THAT(shared, PassesGradcheck());
  EXPECT_EQ(shared.kinks, 2);
  EXPECT_EQ(shared.checked, 1);
}

TEST(Gradcheck, WrongGradientAtAKinkIsStillAMismatch) {
  const auto f = [](const Tensors& in) {
    return Tensors{record("wrong", {in[0]}, relu(in[0].detach()),
                          [](const BackwardContext& context) -> Gradients {
                            return {affine(context.cotangent(), 1.5)};
                          })};
  };
  const GradcheckResult result = gradcheck(f, {vector_of({0})});
  EXPECT_EQ(result.outcome, GradcheckOutcome::mismatch);
  EXPECT_EQ(result.kinks, 0);
}

TEST(Gradcheck, SteepCurvatureIsNoKink) {
  const auto f = [](const Tensors& in) { return Tensors{affine(square(in[0]), 1e5)}; };
  const GradcheckResult result = gradcheck(f, {vector_of({0, 1e-4})});
  EXPECT_THAT(result, PassesGradcheck());
  EXPECT_EQ(result.kinks, 0);
  EXPECT_EQ(result.checked, 2);
}

// --- what is refused ---------------------------------------------------------------------------

TEST(Gradcheck, FunctionThatIsNotDeterministicIsRefused) {
  Generator generator(1);
  const GradcheckResult result =
      gradcheck([&](const Tensors& in) { return Tensors{dropout(in[0], 0.5, generator)}; },
                {Tensor::full({64}, 1.0, DType::f64)});
  EXPECT_EQ(result.outcome, GradcheckOutcome::not_deterministic);
  EXPECT_THAT(result.message, testing::MatchesRegex(
                                  "two calls give different numbers \\(reset generators inside "
                                  "the function\\): output 0 at \\([0-9]+\\) is [02], then [02]"));
  expect_gradcheck(
      [](const Tensors& in) {
        Generator again(1);
        return Tensors{dropout(in[0], 0.5, again)};
      },
      {Tensor::full({64}, 1.0, DType::f64)});
}

TEST(Gradcheck, InputsAreF64) {
  const auto f = [](const Tensors& in) { return Tensors{square(in[0])}; };
  EXPECT_EQ(test::error_of([&] {
              gradcheck(f, {Tensor::zeros({2, 3})});
            }),
            "[gradcheck] differences need f64, input 0 is f32 (2, 3)");
  EXPECT_EQ(test::error_of([&] { gradcheck(f, {Tensor()}); }), "[gradcheck] input 0 is undefined");
  EXPECT_EQ(test::error_of([&] { gradcheck(f, {Tensor::zeros({2}, DType::i32)}); }),
            "[gradcheck] no input is f64, there is nothing to differentiate");
}

TEST(Gradcheck, ErrorsOfTheFunctionAreReported) {
  const GradcheckResult mismatch =
      gradcheck([](const Tensors& in) { return Tensors{matmul(in[0], in[0])}; }, {numbers({2, 3})});
  EXPECT_EQ(mismatch.outcome, GradcheckOutcome::error);
  EXPECT_EQ(mismatch.message, "[matmul] inner dimensions differ: a (2, 3) x b (2, 3)");
  const GradcheckResult f32 = gradcheck(
      [](const Tensors& in) { return Tensors{to_dtype(in[0], DType::f32)}; }, {numbers({2})});
  EXPECT_EQ(f32.outcome, GradcheckOutcome::error);
  EXPECT_EQ(f32.message, "[gradcheck] differences need f64, output 0 is f32 (2)");
  const GradcheckResult none = gradcheck([](const Tensors&) { return Tensors{}; }, {numbers({2})});
  EXPECT_EQ(none.message, "[gradcheck] the function returns no output");
}

// --- large inputs ------------------------------------------------------------------------------

TEST(Gradcheck, LargeInputsAreCheckedAlongDirections) {
  const Tensor large = numbers({40, 50});
  const GradcheckResult right =
      gradcheck([](const Tensors& in) { return Tensors{heed::tanh(in[0])}; }, {large});
  EXPECT_THAT(right, PassesGradcheck());
  EXPECT_EQ(right.checked, 8);
  const GradcheckResult wrong = gradcheck(
      [](const Tensors& in) { return Tensors{square_with_backward(in[0], 1.1)}; }, {large});
  EXPECT_EQ(wrong.outcome, GradcheckOutcome::mismatch);
  EXPECT_THAT(wrong.index, HasSubstr("direction "));
  EXPECT_THAT(wrong.message, HasSubstr("input 0 at direction "));
}

TEST(Gradcheck, SizeFromWhichDirectionsAreTakenIsAnOption) {
  GradcheckOptions options;
  options.most_elements = 3;
  options.directions = 5;
  const GradcheckResult result = gradcheck([](const Tensors& in) { return Tensors{in[0] * in[1]}; },
                                           {numbers({4}), numbers({1})}, options);
  EXPECT_THAT(result, PassesGradcheck());
  EXPECT_EQ(result.checked, 5 + 1);
}

}  // namespace
}  // namespace heed
