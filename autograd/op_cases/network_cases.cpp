#include <algorithm>
#include <cmath>

#include "autograd/functions/elementwise.h"
#include "autograd/functions/network.h"
#include "autograd/op_cases/cases.h"

namespace heed::cases {

using reference::build;
using reference::erased;
using reference::with;

namespace {

void add_embedding(std::vector<OpCase>& cases) {
  const auto lookup = [](const Arrays& in) {
    Shape shape = in[0].shape;
    shape.push_back(in[1].shape[1]);
    return build(shape, [&](const Shape& i) {
      const double id = in[0].at(erased(i, -1));
      return in[1].at({static_cast<int64_t>(id), i.dim(-1)});
    });
  };
  const std::pair<Input, Shape> rows[] = {
      {ids({5}, 3), {3, 2}}, {ids({2, 3}, 7), {7, 5}}, {ids({}, 4), {4, 3}},
      {ids({0}, 4), {4, 3}}, {ids({3}, 1), {1, 1}},    {ids({2, 1, 13}, 11), {11, 1}},
      {ids({4}, 5), {5, 0}},
  };
  for (const auto& [rule, table] : rows) {
    cases.push_back(make(
        "embedding", "", {rule, real(table)},
        [](const Tensors& in) { return Tensors{embedding(in[0], in[1])}; },
        [lookup](const Arrays& in) { return Arrays{lookup(in)}; }));
  }
  // The padding row passes no gradient, so what it gives is hidden from the difference.
  const std::vector<bool> used = {true, false, true, true, false};
  cases.push_back(make(
      "embedding", "padding 2", {fixed_ids({0, 2, 1, 3, 2}, {5}), real({4, 3})},
      [used](const Tensors& in) {
        const Tensor rows_used = Tensor::from_vector(used, {5, 1}, in[0].device());
        const Tensor zero = Tensor::zeros({}, in[1].dtype(), in[1].device());
        return Tensors{where(rows_used, embedding(in[0], in[1], 2), zero)};
      },
      [lookup, used](const Arrays& in) {
        const Array all = lookup(in);
        return Arrays{build(all.shape, [&](const Shape& i) {
          return used[static_cast<size_t>(i[0])] ? all.at(i) : 0.0;
        })};
      }));
}

// softmax over the entries whose mask is not 0; 0 elsewhere.
Array softmax_of(const Array& x, const Array& mask) {
  return build(x.shape, [&](const Shape& i) {
    double total = 0;
    for (int64_t j = 0; j < x.shape.dim(-1); ++j) {
      const Shape other = with(i, -1, j);
      total += mask.at(other) != 0 ? std::exp(x.at(other)) : 0;
    }
    return mask.at(i) != 0 ? std::exp(x.at(i)) / total : 0.0;
  });
}

void add_softmax(std::vector<OpCase>& cases, const char* op, bool logarithmic) {
  std::vector<std::vector<Input>> rows = {
      {real({7})},
      {real({3, 5})},
      {real({2, 3, 11})},
      {real({1, 1})},
      {real({0, 3})},
      {real({5, 1})},
      {real({3, 67})},
      {real({3, 5}), boolean({3, 5})},
      {real({2, 3, 5}), boolean({5})},
      {real({2, 3, 5}), boolean({2, 1, 5})},
      {real({2, 3, 5}), boolean({3, 1})},
      {real({3, 3}), mask({true, false, false, true, true, false, true, true, true}, {3, 3})},
      {real({2, 3}), mask({false, false, false, true, false, true}, {2, 3})},
      {real({2, 3}), mask({false}, {})},
  };
  for (const std::vector<Input>& inputs : rows) {
    // The logarithm of a masked entry is -inf, which no difference can be taken of: 0 instead.
    cases.push_back(make(
        op, "", inputs,
        [logarithmic](const Tensors& in) {
          const Tensor used = in.size() > 1 ? in[1] : Tensor();
          if (!logarithmic) {
            return Tensors{softmax(in[0], used)};
          }
          const Tensor y = log_softmax(in[0], used);
          const Tensor zero = Tensor::zeros({}, y.dtype(), y.device());
          return Tensors{used.defined() ? where(used, y, zero) : y};
        },
        [logarithmic](const Arrays& in) {
          const Array used = in.size() > 1 ? in[1] : Array{{}, {1}};
          Array y = softmax_of(in[0], used);
          for (double& value : y.values) {
            value = logarithmic && value > 0 ? std::log(value) : value;
          }
          return Arrays{y};
        }));
  }
}

Array cross_entropy_of(const Arrays& in, const CrossEntropyOptions& options) {
  const Array& logits = in[0];
  const Array& targets = in[1];
  const Array p = softmax_of(logits, {{}, {1}});
  double loss = 0;
  reference::for_each_index(targets.shape, [&](const Shape& i) {
    const auto target = static_cast<int64_t>(targets.at(i));
    if (target == options.ignore_index) {
      return;
    }
    const int64_t classes = logits.shape.dim(-1);
    const double eps = options.label_smoothing;
    for (int64_t v = 0; v < classes; ++v) {
      const double q = (v == target ? 1 - eps : 0) + eps / static_cast<double>(classes);
      loss -= q * std::log(p.at(reference::inserted(i, -1, v)));
    }
  });
  return {{}, {loss}};
}

void add_cross_entropy(std::vector<OpCase>& cases) {
  struct Row {
    Input logits, targets;
    CrossEntropyOptions options;
  };
  const Row rows[] = {
      {real({3, 5}), ids({3}, 5), {}},
      {real({3, 5}), ids({3}, 5), {0.1, -100}},
      {real({2, 3, 7}), ids({2, 3}, 7), {0.3, -100}},
      {real({4, 3}), fixed_ids({0, -100, 2, -100}, {4}), {}},
      {real({4, 3}), fixed_ids({0, 1, 2, 1}, {4}), {0.1, 1}},
      {real({2, 3}), fixed_ids({-100, -100}, {2}), {0.1, -100}},
      {real({5}), ids({}, 5), {}},
      {real({1, 1}), ids({1}, 1), {0.1, -100}},
      {real({0, 3}), ids({0}, 3), {}},
      {real({3, 67}), ids({3}, 67), {0.1, -100}},
  };
  for (const auto& [logits, targets, options] : rows) {
    cases.push_back(make(
        "cross_entropy",
        fmt::format("smoothing {}, ignore {}", options.label_smoothing, options.ignore_index),
        {logits, targets},
        [options = options](const Tensors& in) {
          return Tensors{cross_entropy(in[0], in[1], options).loss};
        },
        [options = options](const Arrays& in) { return Arrays{cross_entropy_of(in, options)}; }));
  }
}

Array layer_norm_of(const Arrays& in, double epsilon) {
  const Array& x = in[0];
  return build(x.shape, [&](const Shape& i) {
    const int64_t width = x.shape.dim(-1);
    double mean = 0;
    for (int64_t j = 0; j < width; ++j) {
      mean += x.at(with(i, -1, j)) / static_cast<double>(width);
    }
    double variance = 0;
    for (int64_t j = 0; j < width; ++j) {
      const double centred = x.at(with(i, -1, j)) - mean;
      variance += centred * centred / static_cast<double>(width);
    }
    const double normal = (x.at(i) - mean) / std::sqrt(variance + epsilon);
    return normal * in[1].at(i) + (in.size() > 2 ? in[2].at(i) : 0);
  });
}

void add_layer_norm(std::vector<OpCase>& cases) {
  for (const double epsilon : {1e-5, 0.1}) {
    for (const Shape& shape : {Shape{7}, {3, 5}, {2, 3, 4}, {1, 1}, {0, 4}, {5, 1}, {3, 67}}) {
      const Shape width = {shape.dim(-1)};
      cases.push_back(make(
          "layer_norm", fmt::format("epsilon {}", epsilon), {real(shape), real(width), real(width)},
          [epsilon](const Tensors& in) {
            return Tensors{layer_norm(in[0], in[1], in[2], epsilon)};
          },
          [epsilon](const Arrays& in) { return Arrays{layer_norm_of(in, epsilon)}; }));
    }
  }
  cases.push_back(make(
      "layer_norm", "without bias", {real({2, 3, 4}), real({4})},
      [](const Tensors& in) { return Tensors{layer_norm(in[0], in[1], {}, 1e-5)}; },
      [](const Arrays& in) { return Arrays{layer_norm_of(in, 1e-5)}; }));
}

void add_rms_norm(std::vector<OpCase>& cases) {
  for (const double epsilon : {1e-6, 0.1}) {
    for (const Shape& shape : {Shape{7}, {3, 5}, {2, 3, 4}, {1, 1}, {0, 4}, {5, 1}, {3, 67}}) {
      cases.push_back(make(
          "rms_norm", fmt::format("epsilon {}", epsilon), {off_zero(shape), real({shape.dim(-1)})},
          [epsilon](const Tensors& in) { return Tensors{rms_norm(in[0], in[1], epsilon)}; },
          [epsilon](const Arrays& in) {
            const Array& x = in[0];
            return Arrays{build(x.shape, [&](const Shape& i) {
              const int64_t width = x.shape.dim(-1);
              double square = 0;
              for (int64_t j = 0; j < width; ++j) {
                square += x.at(with(i, -1, j)) * x.at(with(i, -1, j)) / static_cast<double>(width);
              }
              return x.at(i) / std::sqrt(square + epsilon) * in[1].at(i);
            })};
          }));
    }
  }
}

// Element i of a turned vector: its pair's first is a cos - b sin, its second a sin + b cos.
Array rotary_of(const Array& x, const Array& positions, double base, RotaryPairing pairing) {
  const int64_t pairs = x.shape.dim(-1) / 2;
  return build(x.shape, [&](const Shape& i) {
    const int64_t at = i.dim(-1);
    const bool interleaved = pairing == RotaryPairing::interleaved;
    const int64_t pair = interleaved ? at / 2 : at % pairs;
    const bool second = interleaved ? at % 2 == 1 : at >= pairs;
    const int64_t step = interleaved ? 1 : pairs;
    const double angle = positions.at(erased(i, -1)) *
                         std::pow(base, -static_cast<double>(pair) / static_cast<double>(pairs));
    const double other = x.at(with(i, -1, second ? at - step : at + step));
    return x.at(i) * std::cos(angle) + (second ? other : -other) * std::sin(angle);
  });
}

void add_rotary(std::vector<OpCase>& cases) {
  const std::pair<Shape, Shape> rows[] = {
      {{3, 2}, {3}},       {{2, 3, 4}, {3}},     {{2, 2, 3, 6}, {2, 1, 3}}, {{2, 2, 3, 6}, {2, 3}},
      {{1, 1, 1, 2}, {1}}, {{2, 0, 4}, {0}},     {{2, 3, 0}, {3}},          {{2, 3, 4}, {1}},
      {{2, 4}, {}},        {{2, 5, 38}, {2, 5}},
  };
  for (const RotaryPairing pairing : {RotaryPairing::interleaved, RotaryPairing::half}) {
    for (const auto& [shape, positions] : rows) {
      cases.push_back(make(
          "rotary", pairing == RotaryPairing::half ? "half" : "interleaved",
          {real(shape), ids(positions, 100)},
          [pairing](const Tensors& in) { return Tensors{rotary(in[0], in[1], 100, pairing)}; },
          [pairing](const Arrays& in) { return Arrays{rotary_of(in[0], in[1], 100, pairing)}; }));
    }
    cases.push_back(make(
        "rotary", pairing == RotaryPairing::half ? "half, offset 5" : "interleaved, offset 5",
        {real({2, 3, 4})},
        [pairing](const Tensors& in) { return Tensors{rotary(in[0], 5, 10000, pairing)}; },
        [pairing](const Arrays& in) {
          return Arrays{rotary_of(in[0], {{3}, {5, 6, 7}}, 10000, pairing)};
        }));
  }
}

Array gru_cell_of(const Arrays& in) {
  const Array& x = in[0];
  const Array& g = in[1];
  const Array& h = in[2];
  const auto sigma = [](double v) { return 1 / (1 + std::exp(-v)); };
  return build(h.shape, [&](const Shape& i) {
    const int64_t width = h.shape[1];
    const Shape at_r = i;
    const Shape at_z = with(i, 1, width + i[1]);
    const Shape at_n = with(i, 1, 2 * width + i[1]);
    const double r = sigma(x.at(at_r) + g.at(at_r));
    const double z = sigma(x.at(at_z) + g.at(at_z));
    const double n = std::tanh(x.at(at_n) + r * g.at(at_n));
    const bool kept = in.size() > 3 && in[3].at({i[0]}) == 0;
    return kept ? h.at(i) : (1 - z) * n + z * h.at(i);
  });
}

void add_gru_cell(std::vector<OpCase>& cases) {
  for (const auto& [rows, width] :
       {std::pair<int64_t, int64_t>{2, 3}, {1, 1}, {0, 2}, {3, 17}, {5, 1}}) {
    const Input gates = real({rows, 3 * width});
    std::vector<Input> inputs = {gates, gates, real({rows, width})};
    const auto add_case = [&] {
      cases.push_back(make(
          "gru_cell", "", inputs,
          [](const Tensors& in) {
            return Tensors{gru_cell(in[0], in[1], in[2], in.size() > 3 ? in[3] : Tensor())};
          },
          [](const Arrays& in) { return Arrays{gru_cell_of(in)}; }));
    };
    add_case();
    inputs.push_back(boolean({rows}));
    add_case();
  }
}

void add_additive_score(std::vector<OpCase>& cases) {
  const Shape sizes[] = {{2, 3, 5}, {1, 1, 1}, {0, 2, 3}, {2, 0, 3}, {3, 7, 1}, {2, 2, 37}};
  for (const Shape& size : sizes) {
    cases.push_back(make(
        "additive_score", "", {real({size[0], size[2]}), real(size), real({size[2]})},
        [](const Tensors& in) { return Tensors{additive_score(in[0], in[1], in[2])}; },
        [](const Arrays& in) {
          const Shape& keys = in[1].shape;
          return Arrays{build({keys[0], keys[1]}, [&](const Shape& i) {
            double score = 0;
            for (int64_t a = 0; a < keys[2]; ++a) {
              score += in[2].at({a}) * std::tanh(in[0].at({i[0], a}) + in[1].at({i[0], i[1], a}));
            }
            return score;
          })};
        }));
  }
}

// Scores, masked softmax and context of plain loops; of a mask, if there is one.
Arrays additive_attention_of(const Arrays& in) {
  const Shape& keys = in[1].shape;
  const auto used = [&](int64_t b, int64_t s) { return in.size() < 5 || in[4].at({b, s}) != 0; };
  const Array powers = build({keys[0], keys[1]}, [&](const Shape& i) {
    double score = 0;
    for (int64_t a = 0; a < keys[2]; ++a) {
      score += in[3].at({a}) * std::tanh(in[0].at({i[0], a}) + in[1].at({i[0], i[1], a}));
    }
    return used(i[0], i[1]) ? std::exp(score) : 0.0;
  });
  const Array weights = build(powers.shape, [&](const Shape& i) {
    double sum = 0;
    for (int64_t s = 0; s < keys[1]; ++s) {
      sum += powers.at({i[0], s});
    }
    return sum == 0 ? 0.0 : powers.at(i) / sum;
  });
  const Array context = build({keys[0], in[2].shape[2]}, [&](const Shape& i) {
    double sum = 0;
    for (int64_t s = 0; s < keys[1]; ++s) {
      sum += weights.at({i[0], s}) * in[2].at({i[0], s, i[1]});
    }
    return sum;
  });
  return {context, weights};
}

void add_additive_attention(std::vector<OpCase>& cases) {
  const Shape sizes[] = {{2, 3, 5, 4}, {1, 1, 1, 1}, {0, 2, 3, 2},
                         {2, 0, 3, 2}, {3, 7, 1, 0}, {2, 35, 2, 33}};
  for (const Shape& size : sizes) {
    const Shape positions = {size[0], size[1]};
    std::vector<Input> inputs = {real({size[0], size[2]}), real({size[0], size[1], size[2]}),
                                 real({size[0], size[1], size[3]}), real({size[2]})};
    for (const bool masked : {false, true}) {
      if (masked) {
        inputs.push_back(boolean(positions));
      }
      cases.push_back(make(
          "additive_attention", "", inputs,
          [](const Tensors& in) {
            const auto [context, weights] =
                additive_attention(in[0], in[1], in[2], in[3], in.size() > 4 ? in[4] : Tensor());
            return Tensors{context, weights};
          },
          additive_attention_of));
    }
  }
}

void add_max_pairs(std::vector<OpCase>& cases) {
  for (const Shape& shape : {Shape{2}, {6}, {3, 10}, {2, 3, 4}, {0, 4}, {3, 0}, {2, 74}}) {
    cases.push_back(make(
        "max_pairs", "", {real(shape)}, [](const Tensors& in) { return Tensors{max_pairs(in[0])}; },
        [](const Arrays& in) {
          const Array& x = in[0];
          return Arrays{build(with(x.shape, -1, x.shape.dim(-1) / 2), [&](const Shape& i) {
            return std::max(x.at(with(i, -1, 2 * i.dim(-1))), x.at(with(i, -1, 2 * i.dim(-1) + 1)));
          })};
        }));
  }
}

}  // namespace

void add_network(std::vector<OpCase>& cases) {
  add_embedding(cases);
  add_softmax(cases, "softmax", false);
  add_softmax(cases, "log_softmax", true);
  add_cross_entropy(cases);
  add_layer_norm(cases);
  add_rms_norm(cases);
  add_rotary(cases);
  add_gru_cell(cases);
  add_additive_score(cases);
  add_additive_attention(cases);
  add_max_pairs(cases);
}

}  // namespace heed::cases
