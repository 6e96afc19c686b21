#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Cell {
  Tensor y, gates;
};

Cell gru_cell(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h, const Tensor& mask) {
  const Cell result = {unset(h.shape(), h.dtype()), unset(gates_h.shape(), h.dtype())};
  tested().gru_cell(gates_x, gates_h, h, mask, result.y, result.gates);
  return result;
}

struct Gradients {
  Tensor dgates_x, dgates_h, dh;
};

Gradients backward(const Tensor& gates, const Tensor& gates_h, const Tensor& h, const Tensor& mask,
                   const Tensor& dy) {
  const Gradients result = {unset(gates.shape(), h.dtype()), unset(gates.shape(), h.dtype()),
                            unset(h.shape(), h.dtype())};
  tested().gru_cell_backward(gates, gates_h, h, mask, dy, result.dgates_x, result.dgates_h,
                             result.dh);
  return result;
}

struct CellByHand {
  std::vector<double> y, dgates_x, dgates_h, dh;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// keep: 0 for the rows whose mask is false.
CellByHand by_hand(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h,
                   const std::vector<double>& keep, const Tensor& dy) {
  const auto width = static_cast<size_t>(h.dim(1));
  const std::vector<double> xs = gates_x.to_doubles();
  const std::vector<double> hs = gates_h.to_doubles();
  const std::vector<double> states = h.to_doubles();
  const std::vector<double> incoming = dy.to_doubles();
  CellByHand result;
  result.dgates_x.assign(hs.size(), 0);
  result.dgates_h.assign(hs.size(), 0);
  for (size_t i = 0; i < states.size(); ++i) {
    const size_t row = i / width;
    if (keep[row] == 0) {
      result.y.push_back(states[i]);
      result.dh.push_back(incoming[i]);
      continue;
    }
    const size_t at_r = row * 3 * width + i % width;
    const size_t at_z = at_r + width;
    const size_t at_n = at_z + width;
    const double r = sigmoid(xs[at_r] + hs[at_r]);
    const double z = sigmoid(xs[at_z] + hs[at_z]);
    const double n = std::tanh(xs[at_n] + r * hs[at_n]);
    result.y.push_back((1 - z) * n + z * states[i]);
    const double inner = incoming[i] * (1 - z) * (1 - n * n);
    result.dgates_x[at_n] = inner;
    result.dgates_h[at_n] = inner * r;
    result.dgates_x[at_r] = result.dgates_h[at_r] = inner * hs[at_n] * r * (1 - r);
    result.dgates_x[at_z] = result.dgates_h[at_z] = incoming[i] * (states[i] - n) * z * (1 - z);
    result.dh.push_back(incoming[i] * z);
  }
  return result;
}

struct Inputs {
  Tensor gates_x, gates_h, h, dy;
};

Inputs random_inputs(int64_t rows, int64_t width, DType dtype) {
  return {random_tensor({rows, 3 * width}, dtype, 1, -4, 4),
          random_tensor({rows, 3 * width}, dtype, 2, -4, 4), random_tensor({rows, width}, dtype, 3),
          random_tensor({rows, width}, dtype, 4)};
}

void expect_matches(const Inputs& in, const Tensor& gates_x, const Tensor& mask,
                    const std::vector<double>& keep) {
  const double tolerance = 2 * tolerance_of(in.h.dtype());
  const CellByHand expected = by_hand(in.gates_x, in.gates_h, in.h, keep, in.dy);
  const Cell cell = gru_cell(gates_x, in.gates_h, in.h, mask);
  expect_same_numbers(cell.y, expected.y, tolerance);
  const Gradients gradients = backward(cell.gates, in.gates_h, in.h, mask, in.dy);
  expect_same_numbers(gradients.dgates_x, expected.dgates_x, tolerance);
  expect_same_numbers(gradients.dgates_h, expected.dgates_h, tolerance);
  expect_same_numbers(gradients.dh, expected.dh, tolerance);
}

TEST(GruCell, MatchesPlainLoops) {
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{1, 1}, Shape{5, 1}, Shape{1, 13},
                             Shape{17, 19}, Shape{101, 37}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(shape.to_string());
      const Inputs in = random_inputs(shape[0], shape[1], dtype);
      const std::vector<double> all(static_cast<size_t>(shape[0]), 1);
      expect_matches(in, in.gates_x, {}, all);
      expect_matches(in, in.gates_x, from_doubles(all, {shape[0]}, DType::boolean), all);
    }
  }
}

// One time step of (B, T, 3H).
TEST(GruCell, ReadsInputGatesWithAnyRowStride) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Inputs in = random_inputs(5, 7, dtype);
    const Tensor steps = unset({5, 3, 21}, dtype);
    const Tensor step = steps.as_strided({5, 21}, {63, 1}, 21);
    tested().copy(in.gates_x, step);
    expect_matches(in, step, {}, std::vector<double>(5, 1));
    const Tensor same = in.gates_x.as_strided({5, 21}, {0, 1}, 0);
    Inputs repeated = in;
    repeated.gates_x = same;
    expect_matches(repeated, same, {}, std::vector<double>(5, 1));
  }
}

TEST(GruCell, MaskedRowsKeepTheirStateAndReadNothingElse) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Inputs in = random_inputs(5, 7, dtype);
    const std::vector<double> keep = {0, 1, 0, 0, 1};
    for (const int64_t row : {0, 2, 3}) {
      tested().fill(in.gates_x.as_strided({21}, {1}, row * 21), nan);
      tested().fill(in.gates_h.as_strided({21}, {1}, row * 21), nan);
    }
    expect_matches(in, in.gates_x, from_doubles(keep, {5}, DType::boolean), keep);
    const std::vector<double> none(5, 0);
    expect_matches(in, in.gates_x, from_doubles(none, {5}, DType::boolean), none);
  }
}

TEST(GruCell, SaturatesWithoutOverflow) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor gates_h = Tensor::zeros({4, 3}, dtype);
    const Tensor gates_x = from_doubles(
        {1e4, 1e4, 1e4, -1e4, -1e4, 1e4, 1e4, -1e4, -1e4, -1e4, 1e4, -1e4}, {4, 3}, dtype);
    const Tensor h = from_doubles({0.25, 0.25, 0.25, 0.25}, {4, 1}, dtype);
    const Cell cell = gru_cell(gates_x, gates_h, h, {});
    expect_same_numbers(cell.gates, {1, 1, 1, 0, 0, 1, 1, 0, -1, 0, 1, -1}, 0);
    expect_same_numbers(cell.y, {0.25, 1, -1, 0.25}, 0);
  }
}

TEST(GruCell, NanSpoilsItsOwnElementOnly) {
  const Inputs in = random_inputs(2, 3, DType::f32);
  const std::vector<double> before = gru_cell(in.gates_x, in.gates_h, in.h, {}).y.to_doubles();
  for (const int64_t gate : {0, 1, 2}) {
    const Tensor spoiled = in.gates_x.clone();
    tested().fill(spoiled.as_strided({1}, {1}, gate * 3 + 1), nan);
    std::vector<double> expected = before;
    expected[1] = nan;
    expect_same_numbers(gru_cell(spoiled, in.gates_h, in.h, {}).y, expected, 0);
  }
}

TEST(GruCell, DoesNotDependOnTheThreads) {
  const Inputs in = random_inputs(307, 53, DType::f32);
  expect_same_for_any_threads([&] { return gru_cell(in.gates_x, in.gates_h, in.h, {}).y; });
  const Tensor gates = gru_cell(in.gates_x, in.gates_h, in.h, {}).gates;
  expect_same_for_any_threads(
      [&] { return backward(gates, in.gates_h, in.h, {}, in.dy).dgates_h; });
}

}  // namespace
}  // namespace heed::kernels::test
