#include "train/update_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "autograd/functions.h"

namespace heed::train {
namespace {

NamedTensor parameter(const std::string& name, const std::vector<double>& values) {
  const Tensor tensor = Tensor::from_vector(values, {static_cast<int64_t>(values.size())});
  set_requires_grad(tensor);
  return {name, tensor};
}

// As its gradient.
void give(const NamedTensor& parameter, const std::vector<double>& gradient) {
  backward(sum(parameter.tensor * Tensor::from_vector(gradient, parameter.tensor.shape())));
}

BatchLoss batch(double loss, double nll, int64_t tokens) {
  return {Tensor::full({}, loss, DType::f64), Tensor::full({}, nll, DType::f64), tokens};
}

class UpdateReportTest : public testing::Test {
 protected:
  const NamedTensor a_ = parameter("a", {1, 2});
  const NamedTensor b_ = parameter("b", {3, 4, 5});
  const NamedTensor without_ = parameter("c", {6});
  UpdateReport report_{{without_, a_, b_}};
};

TEST_F(UpdateReportTest, AddsBatchesAndGradientsUp) {
  report_.begin();
  report_.add(batch(1.5, 1.25, 3));
  report_.add(batch(2, 1, 2));
  give(a_, {3, -4});
  give(b_, {0, 12, 84});
  EXPECT_DOUBLE_EQ(report_.gradient_scale(0).item(), 1.0 / 5);
  const UpdateReport::Numbers numbers = report_.wait();
  EXPECT_EQ(numbers.loss, 3.5);
  EXPECT_EQ(numbers.nll, 2.25);
  EXPECT_DOUBLE_EQ(numbers.gradient_norm, 85.0 / 5);
  EXPECT_EQ(numbers.first_bad_parameter, "");
}

TEST_F(UpdateReportTest, ScalesToTheClippedNorm) {
  give(a_, {3, -4});
  report_.begin();
  report_.add(batch(1, 1, 2));
  EXPECT_DOUBLE_EQ(report_.gradient_scale(2.5).item(), 0.5);
  EXPECT_DOUBLE_EQ(report_.gradient_scale(2).item(), 0.5 * 2 / 2.5);
  EXPECT_DOUBLE_EQ(report_.wait().gradient_norm, 2.5);
}

TEST_F(UpdateReportTest, OfNothingIsNothing) {
  report_.begin();
  EXPECT_EQ(report_.gradient_scale(1).item(), 1);
  const UpdateReport::Numbers numbers = report_.wait();
  EXPECT_EQ(numbers.loss, 0);
  EXPECT_EQ(numbers.gradient_norm, 0);
}

TEST_F(UpdateReportTest, HasNoScaleForWhatIsNotFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  give(a_, {1, 1});
  report_.begin();
  report_.add(batch(infinity, 1, 1));
  EXPECT_TRUE(std::isnan(report_.gradient_scale(1).item()));
  EXPECT_EQ(report_.wait().first_bad_parameter, "");
  for (const double bad : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    give(b_, {0, bad, 0});
    report_.begin();
    report_.add(batch(1, infinity, 1));  // an nll is only told
    EXPECT_TRUE(std::isnan(report_.gradient_scale(1).item()));
    EXPECT_EQ(report_.wait().first_bad_parameter, "b");
    clear_gradient(b_.tensor);
  }
  report_.begin();
  report_.add(batch(1, infinity, 1));
  EXPECT_FALSE(std::isnan(report_.gradient_scale(1).item()));
}

// The next update's batches do not reach what the host has yet to look at.
TEST_F(UpdateReportTest, StaysUntilTheNextScale) {
  report_.begin();
  report_.add(batch(1, 2, 1));
  report_.gradient_scale(0);
  report_.begin();
  report_.add(batch(10, 20, 1));
  EXPECT_EQ(report_.wait().loss, 1);
  report_.gradient_scale(0);
  EXPECT_EQ(report_.wait().nll, 20);
}

}  // namespace
}  // namespace heed::train
