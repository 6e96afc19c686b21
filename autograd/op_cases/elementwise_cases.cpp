#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/functions/elementwise.h"
#include "autograd/op_cases/cases.h"

namespace heed::cases {

using reference::build;

namespace {

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double gelu_of(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_tanh_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

struct Unary {
  const char* op;
  Tensor (*function)(const Tensor&);
  double (*reference)(double);
  Input (*numbers)(const Shape&);
};

Input anywhere(const Shape& shape) { return real(shape, -4, 4); }
Input positive(const Shape& shape) { return real(shape, 0.2, 3); }
Input away_from_kink(const Shape& shape) { return off_zero(shape); }

const Unary unaries[] = {
    {"negate", negate, [](double x) { return -x; }, anywhere},
    {"absolute", absolute, [](double x) { return std::abs(x); }, away_from_kink},
    {"square", square, [](double x) { return x * x; }, anywhere},
    {"square_root", square_root, [](double x) { return std::sqrt(x); }, positive},
    {"exponential", exponential, [](double x) { return std::exp(x); }, anywhere},
    {"logarithm", logarithm, [](double x) { return std::log(x); }, positive},
    {"tanh", heed::tanh, [](double x) { return std::tanh(x); }, anywhere},
    {"sigmoid", sigmoid, sigmoid_of, anywhere},
    {"relu", relu, [](double x) { return std::max(x, 0.0); }, away_from_kink},
    {"gelu", gelu, gelu_of, anywhere},
    {"gelu_tanh", gelu_tanh, gelu_tanh_of, anywhere},
    {"silu", silu, [](double x) { return x * sigmoid_of(x); }, anywhere},
};

// One element and none, several vectors and a rest.
const Shape unary_shapes[] = {{}, {0}, {1}, {7}, {2, 0, 3}, {3, 1, 5}, {67}};

void add_unaries(std::vector<OpCase>& cases) {
  for (const Unary& row : unaries) {
    for (const Shape& shape : unary_shapes) {
      cases.push_back(make(
          row.op, "", {row.numbers(shape)},
          [f = row.function](const Tensors& in) { return Tensors{f(in[0])}; },
          [f = row.reference](const Arrays& in) {
            return Arrays{build(in[0].shape, [&](const Shape& i) { return f(in[0].at(i)); })};
          }));
    }
  }
}

struct Binary {
  const char* op;
  Tensor (*function)(const Tensor&, const Tensor&);
  double (*reference)(double, double);
};

const Binary binaries[] = {
    {"add", add, [](double a, double b) { return a + b; }},
    {"subtract", subtract, [](double a, double b) { return a - b; }},
    {"multiply", multiply, [](double a, double b) { return a * b; }},
    {"divide", divide, [](double a, double b) { return a / b; }},
    {"maximum", maximum, [](double a, double b) { return std::max(a, b); }},
    {"minimum", minimum, [](double a, double b) { return std::min(a, b); }},
};

// Everything that broadcasts within (2, 3), against each other; then sizes 0, primes, rank 3.
std::vector<std::pair<Shape, Shape>> broadcast_pairs() {
  const Shape within[] = {{}, {1}, {3}, {1, 1}, {1, 3}, {2, 1}, {2, 3}};
  std::vector<std::pair<Shape, Shape>> pairs;
  for (const Shape& a : within) {
    for (const Shape& b : within) {
      pairs.emplace_back(a, b);
    }
  }
  const std::pair<Shape, Shape> others[] = {
      {{0}, {0}},          {{0}, {1}},
      {{}, {2, 0}},        {{2, 0}, {2, 1}},
      {{7, 11}, {7, 11}},  {{7, 11}, {11}},
      {{2, 3, 5}, {3, 1}}, {{2, 1, 5}, {1, 3, 1}},
      {{3, 1}, {2, 3, 5}}, {{2, 3, 5}, {2, 1, 5}},
  };
  pairs.insert(pairs.end(), std::begin(others), std::end(others));
  return pairs;
}

void add_binaries(std::vector<OpCase>& cases) {
  for (const Binary& row : binaries) {
    for (const auto& [a, b] : broadcast_pairs()) {
      cases.push_back(make(
          row.op, "", {real(a), off_zero(b, 0.5)},
          [f = row.function](const Tensors& in) { return Tensors{f(in[0], in[1])}; },
          [f = row.reference](const Arrays& in) {
            const Shape shape = broadcast_shapes("reference", in[0].shape, in[1].shape);
            return Arrays{
                build(shape, [&](const Shape& i) { return f(in[0].at(i), in[1].at(i)); })};
          }));
    }
  }
}

void add_where(std::vector<OpCase>& cases) {
  const Shape shapes[][3] = {
      {{2, 3}, {2, 3}, {2, 3}}, {{3}, {2, 3}, {2, 1}},    {{2, 3}, {3}, {}},
      {{2, 1}, {}, {2, 3}},     {{2, 1, 1}, {3, 1}, {5}}, {{}, {1}, {1, 1}},
      {{0}, {0}, {1}},          {{2, 3}, {}, {}},         {{7, 11}, {7, 11}, {}},
  };
  for (const auto& [condition, a, b] : shapes) {
    cases.push_back(make(
        "where", "", {boolean(condition), real(a), real(b)},
        [](const Tensors& in) { return Tensors{where(in[0], in[1], in[2])}; },
        [](const Arrays& in) {
          const Shape shape = broadcast_shapes(
              "reference", in[0].shape, broadcast_shapes("reference", in[1].shape, in[2].shape));
          return Arrays{build(
              shape, [&](const Shape& i) { return in[0].at(i) != 0 ? in[1].at(i) : in[2].at(i); })};
        }));
  }
}

void add_affine(std::vector<OpCase>& cases) {
  for (const Shape& shape : unary_shapes) {
    cases.push_back(make(
        "affine", "", {real(shape)},
        [](const Tensors& in) { return Tensors{affine(in[0], -2.5, 0.75)}; },
        [](const Arrays& in) {
          return Arrays{
              build(in[0].shape, [&](const Shape& i) { return -2.5 * in[0].at(i) + 0.75; })};
        }));
  }
}

void add_dropout(std::vector<OpCase>& cases) {
  static constexpr RandomState state{11, 3, 5};
  for (const double p : {0.0, 0.25, 0.9}) {
    for (const Shape& shape : unary_shapes) {
      cases.push_back(make(
          "dropout", fmt::format("p {}", p), {real(shape)},
          [p](const Tensors& in) {
            Generator generator(state);
            return Tensors{dropout(in[0], p, generator)};
          },
          [p](const Arrays& in) {
            uint64_t index = 0;
            return Arrays{build(in[0].shape, [&](const Shape& i) {
              return philox_uniform(state, index++) >= p ? in[0].at(i) / (1 - p) : 0.0;
            })};
          }));
    }
  }
}

}  // namespace

void add_elementwise(std::vector<OpCase>& cases) {
  add_unaries(cases);
  add_binaries(cases);
  add_where(cases);
  add_affine(cases);
  add_dropout(cases);
}

}  // namespace heed::cases
