#include <fmt/ranges.h>

#include <algorithm>

#include "autograd/functions/products.h"
#include "autograd/functions/reductions.h"
#include "autograd/functions/views.h"
#include "autograd/op_cases/cases.h"

namespace heed::cases {

using reference::build;
using reference::erased;
using reference::inserted;
using reference::with;

namespace {

// --- products ----------------------------------------------------------------------------------

void add_matmul(std::vector<OpCase>& cases) {
  const std::pair<Shape, Shape> shapes[] = {
      {{2, 3}, {3, 5}},    {{1, 1}, {1, 1}},    {{7, 11}, {11, 13}},    {{1, 5}, {5, 1}},
      {{0, 3}, {3, 2}},    {{2, 0}, {0, 3}},    {{2, 3}, {3, 0}},       {{4, 2, 3}, {4, 3, 2}},
      {{4, 2, 3}, {3, 5}}, {{2, 3}, {4, 3, 2}}, {{1, 2, 3}, {4, 3, 2}}, {{2, 1, 2, 3}, {3, 3, 2}},
      {{0, 2, 3}, {3, 2}},
  };
  for (const auto& [a_shape, b_shape] : shapes) {
    cases.push_back(make(
        "matmul", "", {real(a_shape), real(b_shape)},
        [](const Tensors& in) { return Tensors{matmul(in[0], in[1])}; },
        [](const Arrays& in) {
          const Array& a = in[0];
          const Array& b = in[1];
          const Shape shape =
              broadcast_shapes("reference", with(a.shape, -1, 1), with(b.shape, -2, 1));
          return Arrays{build(shape, [&](const Shape& i) {
            double total = 0;
            for (int64_t k = 0; k < a.shape.dim(-1); ++k) {
              total += a.at(with(i, -1, k)) * b.at(with(i, -2, k));
            }
            return total;
          })};
        }));
  }
}

void add_linear(std::vector<OpCase>& cases) {
  const std::pair<Shape, int64_t> rows[] = {{{3}, 2},    {{2, 3}, 5}, {{2, 3, 7}, 4}, {{1, 1}, 1},
                                            {{0, 3}, 2}, {{3, 0}, 2}, {{7, 13}, 11}};
  for (const auto& [x, out] : rows) {
    std::vector<Input> inputs = {real(x), real({out, x.dim(-1)})};
    const auto add_case = [&] {
      cases.push_back(make(
          "linear", "", inputs,
          [](const Tensors& in) {
            return Tensors{linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor())};
          },
          [](const Arrays& in) {
            const Shape& weight = in[1].shape;
            return Arrays{build(with(in[0].shape, -1, weight[0]), [&](const Shape& i) {
              double total = in.size() > 2 ? in[2].at(i) : 0;
              for (int64_t k = 0; k < weight[1]; ++k) {
                total += in[0].at(with(i, -1, k)) * in[1].at({i.dim(-1), k});
              }
              return total;
            })};
          }));
    };
    add_case();
    inputs.push_back(real({out}));
    add_case();
  }
}

// --- reductions --------------------------------------------------------------------------------

struct Over {
  Shape shape;
  std::vector<int> dims;
};

const Over reductions[] = {
    {{}, {}},
    {{5}, {}},
    {{5}, {0}},
    {{1}, {-1}},
    {{2, 3, 5}, {}},
    {{2, 3, 5}, {0}},
    {{2, 3, 5}, {1}},
    {{2, 3, 5}, {-1}},
    {{2, 3, 5}, {0, 2}},
    {{2, 3, 5}, {-2, 0}},
    {{7, 11}, {0}},
    {{7, 67}, {1}},
    {{2, 0}, {0}},
};

// fold(so far, element) over the dimensions named, over all when none is, from `start`.
Array reduce_of(const Array& x, const std::vector<int>& dims, bool keep_dims, double start,
                double (*fold)(double, double)) {
  Shape kept = dims.empty() ? Shape::filled(x.shape.rank(), 1) : x.shape;
  for (const int dim : dims) {
    kept = with(kept, dim, 1);
  }
  Array y = build(kept, [&](const Shape&) { return start; });
  reference::for_each_index(x.shape, [&](const Shape& i) {
    int64_t position = 0;
    for (int d = 0; d < kept.rank(); ++d) {
      position = position * kept[d] + (kept[d] == 1 ? 0 : i[d]);
    }
    double& value = y.values[static_cast<size_t>(position)];
    value = fold(value, x.at(i));
  });
  if (keep_dims) {
    return y;
  }
  std::vector<bool> reduced(static_cast<size_t>(x.shape.rank()), dims.empty());
  for (const int dim : dims) {
    reduced[static_cast<size_t>(dim < 0 ? dim + x.shape.rank() : dim)] = true;
  }
  for (int d = x.shape.rank() - 1; d >= 0; --d) {
    if (reduced[static_cast<size_t>(d)]) {
      y.shape.erase(d);
    }
  }
  return y;
}

double plus(double a, double b) { return a + b; }
double larger(double a, double b) { return std::max(a, b); }

void add_reductions(std::vector<OpCase>& cases) {
  for (const auto& [shape, dims] : reductions) {
    for (const bool keep : {false, true}) {
      const std::string note =
          fmt::format("dims ({}){}", fmt::join(dims, ", "), keep ? " kept" : "");
      cases.push_back(make(
          "sum", note, {real(shape)},
          [dims = dims, keep](const Tensors& in) { return Tensors{sum(in[0], dims, keep)}; },
          [dims = dims, keep](const Arrays& in) {
            return Arrays{reduce_of(in[0], dims, keep, 0, plus)};
          }));
      cases.push_back(make(
          "mean", note, {real(shape)},
          [dims = dims, keep](const Tensors& in) { return Tensors{mean(in[0], dims, keep)}; },
          [dims = dims, keep](const Arrays& in) {
            Array y = reduce_of(in[0], dims, keep, 0, plus);
            const double count =
                static_cast<double>(in[0].values.size()) / static_cast<double>(y.values.size());
            for (double& value : y.values) {
              value /= count;
            }
            return Arrays{y};
          }));
      if (dims.size() == 1) {
        cases.push_back(make(
            "max", note, {real(shape)},
            [dim = dims[0], keep](const Tensors& in) { return Tensors{max(in[0], dim, keep)}; },
            [dims = dims, keep](const Arrays& in) {
              return Arrays{reduce_of(in[0], dims, keep, -1e9, larger)};
            }));
      }
    }
  }
}

// --- views -------------------------------------------------------------------------------------

void add_reshape(std::vector<OpCase>& cases) {
  struct Row {
    Shape from, to, result;
  };
  const Row rows[] = {
      {{2, 3}, {6}, {6}},           {{2, 3}, {-1, 2}, {3, 2}},
      {{}, {1, 1}, {1, 1}},         {{1}, {}, {}},
      {{0, 3}, {3, 0}, {3, 0}},     {{0}, {-1, 7}, {0, 7}},
      {{2, 3, 5}, {5, -1}, {5, 6}},
  };
  for (const auto& [from, to, result] : rows) {
    cases.push_back(make(
        "reshape", "to " + to.to_string(), {real(from)},
        [to = to](const Tensors& in) { return Tensors{reshape(in[0], to)}; },
        [result = result](const Arrays& in) {
          return Arrays{{result, in[0].values}};
        }));
  }
}

void add_transpose(std::vector<OpCase>& cases) {
  struct Row {
    Shape shape;
    int a, b;
  };
  const Row rows[] = {{{2, 3}, -2, -1}, {{2, 3, 5}, 0, 2}, {{2, 3, 5}, 1, 1},
                      {{0, 3}, 0, 1},   {{7}, 0, -1},      {{2, 3, 5, 2}, 1, 2}};
  for (const auto& [shape, a, b] : rows) {
    const auto swapped = [a = a, b = b](Shape i) {
      const Shape before = i;
      return with(with(i, a, before.dim(b)), b, before.dim(a));
    };
    cases.push_back(make(
        "transpose", fmt::format("{} and {}", a, b), {real(shape)},
        [a = a, b = b](const Tensors& in) { return Tensors{transpose(in[0], a, b)}; },
        [swapped](const Arrays& in) {
          return Arrays{
              build(swapped(in[0].shape), [&](const Shape& i) { return in[0].at(swapped(i)); })};
        }));
  }
}

void add_slice(std::vector<OpCase>& cases) {
  struct Row {
    Shape shape;
    int dim;
    int64_t begin, end;
  };
  const Row rows[] = {{{7}, 0, 2, 5},    {{2, 3, 5}, 1, 1, 2}, {{2, 3, 5}, -1, 0, 5},
                      {{3, 2}, 0, 1, 1}, {{0, 2}, 0, 0, 0},    {{5, 3}, -2, 4, 5}};
  for (const auto& [shape, dim, begin, end] : rows) {
    cases.push_back(make(
        "slice", fmt::format("dim {}, {} .. {}", dim, begin, end), {real(shape)},
        [dim = dim, begin = begin, end = end](const Tensors& in) {
          return Tensors{slice(in[0], dim, begin, end)};
        },
        [dim = dim, begin = begin, end = end](const Arrays& in) {
          return Arrays{build(with(in[0].shape, dim, end - begin), [&](const Shape& i) {
            return in[0].at(with(i, dim, begin + i.dim(dim)));
          })};
        }));
  }
}

void add_expand(std::vector<OpCase>& cases) {
  const std::pair<Shape, Shape> rows[] = {
      {{3}, {2, 3}}, {{2, 1}, {2, 5}},          {{}, {2, 2}},    {{1, 3}, {1, 3}},
      {{1}, {0}},    {{2, 1, 3}, {5, 2, 7, 3}}, {{0, 1}, {0, 4}}};
  for (const auto& [from, to] : rows) {
    cases.push_back(make(
        "expand", "to " + to.to_string(), {real(from)},
        [to = to](const Tensors& in) { return Tensors{expand(in[0], to)}; },
        [to = to](const Arrays& in) {
          return Arrays{build(to, [&](const Shape& i) { return in[0].at(i); })};
        }));
  }
}

void add_unit_dimensions(std::vector<OpCase>& cases) {
  const std::pair<Shape, int> unsqueezed[] = {{{}, 0},     {{3}, 0}, {{3}, -1},
                                              {{2, 3}, 1}, {{0}, 1}, {{2, 3}, -3}};
  for (const auto& [shape, dim] : unsqueezed) {
    cases.push_back(make(
        "unsqueeze", fmt::format("dim {}", dim), {real(shape)},
        [dim = dim](const Tensors& in) { return Tensors{unsqueeze(in[0], dim)}; },
        [dim = dim](const Arrays& in) {
          return Arrays{{inserted(in[0].shape, dim, 1), in[0].values}};
        }));
  }
  const std::pair<Shape, int> squeezed[] = {{{1}, 0},       {{1, 3}, 0}, {{3, 1}, -1},
                                            {{2, 1, 3}, 1}, {{0, 1}, 1}, {{2, 1, 3}, -2}};
  for (const auto& [shape, dim] : squeezed) {
    cases.push_back(make(
        "squeeze", fmt::format("dim {}", dim), {real(shape)},
        [dim = dim](const Tensors& in) { return Tensors{squeeze(in[0], dim)}; },
        [dim = dim](const Arrays& in) {
          return Arrays{{erased(in[0].shape, dim), in[0].values}};
        }));
  }
}

void add_contiguous(std::vector<OpCase>& cases) {
  for (const Shape& shape : {Shape{2, 3}, {7, 11}, {1, 5}, {0, 3}}) {
    cases.push_back(make(
        "contiguous", "of a transpose", {real(shape)},
        [](const Tensors& in) { return Tensors{contiguous(transpose(in[0]))}; },
        [](const Arrays& in) {
          const Shape& from = in[0].shape;
          return Arrays{build({from[1], from[0]}, [&](const Shape& i) {
            return in[0].at({i[1], i[0]});
          })};
        }));
  }
}

void add_joins(std::vector<OpCase>& cases) {
  struct Row {
    std::vector<Shape> parts;
    int dim;
  };
  const Row concats[] = {{{{2, 3}, {1, 3}}, 0}, {{{2, 3}, {2, 5}, {2, 1}}, -1}, {{{3}}, 0},
                         {{{0, 2}, {3, 2}}, 0}, {{{2, 0, 3}, {2, 1, 3}}, 1},    {{{0}, {0}}, 0}};
  for (const auto& [parts, dim] : concats) {
    std::vector<Input> inputs;
    for (const Shape& part : parts) {
      inputs.push_back(real(part));
    }
    cases.push_back(make(
        "concat", fmt::format("dim {}", dim), inputs,
        [dim = dim](const Tensors& in) { return Tensors{concat(in, dim)}; },
        [dim = dim](const Arrays& in) {
          int64_t size = 0;
          for (const Array& part : in) {
            size += part.shape.dim(dim);
          }
          return Arrays{build(with(in[0].shape, dim, size), [&](const Shape& i) {
            size_t part = 0;
            int64_t within = i.dim(dim);
            while (within >= in[part].shape.dim(dim)) {
              within -= in[part++].shape.dim(dim);
            }
            return in[part].at(with(i, dim, within));
          })};
        }));
  }
  struct Stack {
    Shape part;
    int64_t count;
    int dim;
  };
  const Stack stacks[] = {{{2, 3}, 2, 0}, {{2, 3}, 3, -1}, {{}, 3, 0},
                          {{5}, 1, 1},    {{0}, 2, 0},     {{2, 3}, 2, 1}};
  for (const auto& [part, count, dim] : stacks) {
    const Shape whole = inserted(part, dim, count);
    const int d = dim < 0 ? dim + whole.rank() : dim;
    cases.push_back(make(
        "stack", fmt::format("dim {}", dim),
        std::vector<Input>(static_cast<size_t>(count), real(part)),
        [dim = dim](const Tensors& in) { return Tensors{stack(in, dim)}; },
        [whole, d](const Arrays& in) {
          return Arrays{build(whole, [&](const Shape& i) {
            return in[static_cast<size_t>(i[d])].at(erased(i, d));
          })};
        }));
    cases.push_back(make(
        "unstack", fmt::format("dim {}", dim), {real(whole)},
        [dim = dim](const Tensors& in) { return unstack(in[0], dim); },
        [part = part, count = count, d](const Arrays& in) {
          Arrays parts;
          for (int64_t k = 0; k < count; ++k) {
            parts.push_back(
                build(part, [&](const Shape& i) { return in[0].at(inserted(i, d, k)); }));
          }
          return parts;
        }));
  }
}

void add_to_dtype(std::vector<OpCase>& cases) {
  // Through f32 and back: linear but for rounding, which a long step outweighs.
  GradcheckOptions options;
  options.step = 0.25;
  options.absolute_tolerance = 1e-4;
  for (const Shape& shape : {Shape{}, {0}, {7}, {3, 11}}) {
    cases.push_back(make(
        "to_dtype", "f32 and back", {real(shape)},
        [](const Tensors& in) {
          return Tensors{to_dtype(to_dtype(in[0], DType::f32), in[0].dtype())};
        },
        [](const Arrays& in) {
          return Arrays{build(in[0].shape, [&](const Shape& i) {
            return static_cast<double>(static_cast<float>(in[0].at(i)));
          })};
        },
        options));
  }
}

}  // namespace

void add_shape(std::vector<OpCase>& cases) {
  add_matmul(cases);
  add_linear(cases);
  add_reductions(cases);
  add_reshape(cases);
  add_transpose(cases);
  add_slice(cases);
  add_expand(cases);
  add_unit_dimensions(cases);
  add_contiguous(cases);
  add_joins(cases);
  add_to_dtype(cases);
}

}  // namespace heed::cases
