#include <limits>

#include "autograd/functions.h"
#include "autograd/op_cases/op_cases.h"

namespace heed {
namespace {

Tensor f64(const Shape& shape) { return Tensor::zeros(shape, DType::f64); }
Tensor f32(const Shape& shape) { return Tensor::zeros(shape); }
Tensor i32(const std::vector<int32_t>& values) {
  return Tensor::from_vector(values, {static_cast<int64_t>(values.size())});
}
Tensor mask(const Shape& shape) { return Tensor::zeros(shape, DType::boolean); }

// The same mistakes for every function of two operands, and of one.
std::vector<ErrorCase> operand_errors() {
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  using Unary = Tensor (*)(const Tensor&);
  const std::pair<const char*, Binary> binaries[] = {{"add", add},           {"subtract", subtract},
                                                     {"multiply", multiply}, {"divide", divide},
                                                     {"maximum", maximum},   {"minimum", minimum}};
  const std::pair<const char*, Unary> unaries[] = {{"negate", negate},
                                                   {"absolute", absolute},
                                                   {"square", square},
                                                   {"square_root", square_root},
                                                   {"exponential", exponential},
                                                   {"logarithm", logarithm},
                                                   {"tanh", heed::tanh},
                                                   {"sigmoid", sigmoid},
                                                   {"relu", relu},
                                                   {"gelu", gelu},
                                                   {"gelu_tanh", gelu_tanh},
                                                   {"silu", silu},
                                                   {"max_pairs", max_pairs}};
  std::vector<ErrorCase> cases;
  for (const auto& [op, function] : binaries) {
    const auto call = [f = function](const Tensor& a, const Tensor& b) {
      return [f, a, b] { f(a, b); };
    };
    const auto tagged = [op = op](const std::string& text) {
      return fmt::format("[{}] {}", op, text);
    };
    cases.push_back(
        {op, call(f64({2, 3}), f64({4})), tagged("shapes do not broadcast: (2, 3) and (4)")});
    cases.push_back(
        {op, call(f64({2, 3}), f32({2, 3})), tagged("dtypes differ: a f64 (2, 3), b f32 (2, 3)")});
  }
  for (const auto& [op, function] : unaries) {
    cases.push_back(
        {op, [f = function] { f(Tensor()); }, fmt::format("[{}] the input is undefined", op)});
    cases.push_back({op,
                     [f = function] {
                       f(i32({1, 2}));
                     },
                     fmt::format("[{}] f32 or f64 is expected: input i32 (2)", op)});
  }
  return cases;
}

std::vector<ErrorCase> particular_errors() {
  return {
      {"affine", [] { affine(i32({1}), 2); }, "[affine] f32 or f64 is expected: input i32 (1)"},
      {"where", [] { where(f64({2}), f64({2}), f64({2})); },
       "[where] the condition is not boolean: condition f64 (2)"},
      {"where", [] { where(mask({3}), f64({2}), f64({2})); },
       "[where] shapes do not broadcast: (3) and (2)"},
      {"dropout", [] { dropout(f64({2}), 1.0); }, "[dropout] the probability 1 is not in [0, 1)"},

      {"matmul",
       [] {
         matmul(f64({3}), f64({3, 2}));
       },
       "[matmul] matrices are expected (two dimensions or more): a (3) x b (3, 2)"},
      {"matmul",
       [] {
         matmul(f64({2, 3}), f64({2, 3}));
       },
       "[matmul] inner dimensions differ: a (2, 3) x b (2, 3)"},
      {"matmul",
       [] {
         matmul(f64({2, 2, 3}), f64({3, 3, 2}));
       },
       "[matmul] shapes do not broadcast: (2) and (3)"},
      {"matmul",
       [] {
         matmul(f64({2, 3}), f32({3, 2}));
       },
       "[matmul] dtypes differ: a f64 (2, 3), b f32 (3, 2)"},
      {"linear",
       [] {
         linear(f64({2, 3}), f64({3, 2}));
       },
       "[linear] x (..., I) and weight (O, I) do not fit: x f64 (2, 3), weight f64 (3, 2)"},
      {"linear",
       [] {
         linear(f64({2, 3}), f64({5, 3}), f64({3}));
       },
       "[linear] bias (O) does not fit weight (O, I): bias f64 (3), weight f64 (5, 3)"},

      {"sum",
       [] {
         sum(f64({2, 3}), {2});
       },
       "[sum] dimension 2 is out of range for 2 dimensions"},
      {"sum",
       [] {
         sum(f64({2, 3}), {1, -1});
       },
       "[sum] dimension -1 is named twice"},
      {"mean",
       [] {
         mean(f64({0, 3}), {0});
       },
       "[mean] there is no mean of no elements: x f64 (0, 3)"},
      {"max",
       [] {
         max(f64({0, 3}), 0);
       },
       "[max] there is no largest of no elements: x f64 (0, 3)"},
      {"arg_max",
       [] {
         arg_max(f64({3, 0}));
       },
       "[arg_max] there is no largest of no elements: x f64 (3, 0)"},
      {"top_k",
       [] {
         top_k(f64({2, 3}), 4);
       },
       "[top_k] k = 4 is not between 1 and the size of the last dimension: x f64 (2, 3)"},

      {"reshape",
       [] {
         reshape(f64({2, 3}), {4});
       },
       "[reshape] the sizes do not fit: x (2, 3) to (4)"},
      {"reshape",
       [] {
         reshape(f64({2, 3}), {-1, -1});
       },
       "[reshape] more than one size is -1: (-1, -1)"},
      {"reshape",
       [] {
         reshape(f64({2, 3}), {-1, 4});
       },
       "[reshape] the sizes do not fit: x (2, 3) to (1, 4)"},
      {"transpose", [] { transpose(f64({3})); },
       "[transpose] dimension -2 is out of range for 1 dimensions"},
      {"slice",
       [] {
         slice(f64({2, 3}), 1, 2, 4);
       },
       "[slice] 2 .. 4 is not within dimension 1 of x (2, 3)"},
      {"expand",
       [] {
         expand(f64({2, 3}), {2, 4});
       },
       "[expand] shapes do not broadcast: (2, 3) and (2, 4)"},
      {"expand",
       [] {
         expand(f64({2, 3}), {2, 1});
       },
       "[expand] x (2, 3) does not repeat to (2, 1)"},
      {"unsqueeze",
       [] {
         unsqueeze(f64({2, 3}), 3);
       },
       "[unsqueeze] dimension 3 is out of range for 3 dimensions"},
      {"squeeze",
       [] {
         squeeze(f64({2, 3}), 1);
       },
       "[squeeze] dimension 1 of x (2, 3) is not 1"},
      {"unstack",
       [] {
         unstack(f64({2, 3}), 2);
       },
       "[unstack] dimension 2 is out of range for 2 dimensions"},
      {"contiguous", [] { contiguous(Tensor()); }, "[contiguous] the input is undefined"},
      {"concat", [] { concat({}, 0); }, "[concat] there is nothing to join"},
      {"concat",
       [] {
         concat({f64({2, 3}), f64({2, 4})}, 0);
       },
       "[concat] shapes differ outside dimension 0: (2, 3) and (2, 4)"},
      {"stack",
       [] {
         stack(std::vector<Tensor>{f64({2}), f64({3})}, 0);
       },
       "[stack] shapes differ: (2) and (3)"},
      {"to_dtype", [] { to_dtype(f64({2}), DType::i32); }, "[to_dtype] i32 is no floating dtype"},

      {"embedding",
       [] {
         embedding(i32({0, 5}), f64({5, 2}));
       },
       "[embedding] id 5 is out of range: table f64 (5, 2)"},
      {"embedding",
       [] {
         embedding(f64({2}), f64({5, 2}));
       },
       "[embedding] ids are i32: ids f64 (2)"},
      {"logical_and", [] { logical_and(f64({2}), f64({2})); },
       "[logical_and] booleans are expected: a f64 (2), b f64 (2)"},
      {"gru_cell",
       [] {
         gru_cell(f64({2, 3}), f64({2, 3}), f64({2, 1}), f64({2}));
       },
       "[gru_cell] a mask is boolean (true = updates h), this one is mask f64 (2)"},
      {"softmax",
       [] {
         softmax(f64({2, 3}), f64({2, 3}));
       },
       "[softmax] a mask is boolean (true = takes part), this one is mask f64 (2, 3)"},
      {"softmax",
       [] {
         softmax(f64({2, 3}), mask({2}));
       },
       "[softmax] the mask (2) does not broadcast to (2, 3)"},
      {"log_softmax", [] { log_softmax(f64({})); },
       "[log_softmax] there is no last dimension: x f64 ()"},
      {"cross_entropy",
       [] {
         cross_entropy(f64({2, 3}), i32({0, 3}));
       },
       "[cross_entropy] target 3 is no class: logits f64 (2, 3)"},
      {"cross_entropy",
       [] {
         cross_entropy(f64({2, 3}), i32({0}));
       },
       "[cross_entropy] targets (...) do not fit logits (..., V): targets i32 (1), logits f64 "
       "(2, 3)"},
      {"cross_entropy",
       [] {
         cross_entropy(f64({1, 3}), i32({0}), {1.0, -100});
       },
       "[cross_entropy] label smoothing 1 is not in [0, 1)"},
      {"cross_entropy",
       [] {
         cross_entropy(f64({1, 3}), i32({0}), {0.1, int64_t{1} << 40});
       },
       "[cross_entropy] ignore_index 1099511627776 is no i32"},
      {"layer_norm",
       [] {
         layer_norm(f64({2, 3}), f64({2}), f64({3}));
       },
       "[layer_norm] weight (C) does not fit x (..., C): weight f64 (2), x f64 (2, 3)"},
      {"rms_norm",
       [] {
         rms_norm(f64({2, 3}), f64({2}));
       },
       "[rms_norm] weight (C) does not fit x (..., C): weight f64 (2), x f64 (2, 3)"},
      {"rotary", [] { rotary(f64({4})); },
       "[rotary] there is no dimension of positions, x is (..., T, D): x f64 (4)"},
      {"rotary",
       [] {
         rotary(f64({2, 3}));
       },
       "[rotary] the last dimension does not split into pairs: x f64 (2, 3)"},
      {"rotary",
       [] {
         rotary(f64({2, 4}), f64({2}));
       },
       "[rotary] positions are i32: positions f64 (2)"},
      {"rotary",
       [] {
         rotary(f64({2, 4}), i32({0, 1, 2}));
       },
       "[rotary] positions (..., T) do not fit x (..., T, D): positions i32 (3), x f64 (2, 4)"},
      {"rotary",
       [] {
         rotary(f64({2, 4}), 0, 0.0);
       },
       "[rotary] the base 0 is not a positive number"},
      {"gru_cell",
       [] {
         gru_cell(f64({2, 9}), f64({2, 9}), f64({2, 2}));
       },
       "[gru_cell] gates (B, 3H) do not fit h (B, H): gates_x f64 (2, 9), gates_h f64 (2, 9), h "
       "f64 (2, 2)"},
      {"gru_cell",
       [] {
         gru_cell(f64({2, 6}), f64({2, 6}), f64({2, 2}), mask({3}));
       },
       "[gru_cell] the mask (3) does not broadcast to (2)"},
      {"additive_score",
       [] {
         additive_score(f64({2, 4}), f64({2, 3, 5}), f64({4}));
       },
       "[additive_score] query (B, A), keys (B, S, A) and weight (A) do not fit: query f64 (2, 4), "
       "keys f64 (2, 3, 5), weight f64 (4)"},
      {"additive_attention",
       [] {
         additive_attention(f64({2, 4}), f64({2, 3, 4}), f64({2, 4, 5}), f64({4}));
       },
       "[additive_attention] values (B, S, C) do not fit keys (B, S, A): values f64 (2, 4, 5), "
       "keys "
       "f64 (2, 3, 4)"},
      {"additive_attention",
       [] {
         additive_attention(f64({2, 4}), f64({2, 3, 4}), f64({2, 3, 5}), f64({4}), mask({2, 4}));
       },
       "[additive_attention] the mask (2, 4) does not broadcast to (2, 3)"},
      {"max_pairs",
       [] {
         max_pairs(f64({2, 3}));
       },
       "[max_pairs] the last dimension does not split into pairs: x f64 (2, 3)"},
  };
}

std::vector<ErrorCase> attention_errors() {
  constexpr const char* op = "scaled_dot_product_attention";
  std::vector<ErrorCase> cases;
  const auto refuse = [&](const Tensor& query, const Tensor& key, const Tensor& value,
                          const std::string& text, const AttentionOptions& options = {}) {
    cases.push_back({op, [=] { scaled_dot_product_attention(query, key, value, options); },
                     fmt::format("[{}] {}", op, text)});
  };
  const Tensor query = f64({2, 3, 4, 5});
  const Tensor key = f64({2, 3, 6, 5});
  const Tensor value = f64({2, 3, 6, 7});
  refuse(i32({1, 2}), key, value, "f32 or f64 is expected: input i32 (2)");
  refuse(query, Tensor(), value, "key is undefined");
  refuse(query, f32({2, 3, 6, 5}), value,
         "dtypes differ: query f64 (2, 3, 4, 5), key f32 (2, 3, 6, 5)");
  refuse(query, key, f32({2, 3, 6, 7}),
         "dtypes differ: query f64 (2, 3, 4, 5), value f32 (2, 3, 6, 7)");
  refuse(f64({4, 5}), f64({6, 5}), f64({6, 7}),
         "query, key and value are all (B, H, length, width) or all (B, length, width): query f64 "
         "(4, 5), key f64 (6, 5), value f64 (6, 7)");
  refuse(query, f64({3, 6, 5}), value,
         "query, key and value are all (B, H, length, width) or all (B, length, width): query f64 "
         "(2, 3, 4, 5), key f64 (3, 6, 5), value f64 (2, 3, 6, 7)");
  refuse(query, f64({1, 3, 6, 5}), value,
         "batches or heads differ: query f64 (2, 3, 4, 5), key f64 (1, 3, 6, 5), value f64 "
         "(2, 3, 6, 7)");
  refuse(query, key, f64({2, 1, 6, 7}),
         "batches or heads differ: query f64 (2, 3, 4, 5), key f64 (2, 3, 6, 5), value f64 "
         "(2, 1, 6, 7)");
  refuse(query, f64({2, 3, 6, 4}), value,
         "widths differ: query f64 (2, 3, 4, 5), key f64 (2, 3, 6, 4)");
  refuse(query, key, f64({2, 3, 5, 7}),
         "there is not one value for each key: key f64 (2, 3, 6, 5), value f64 (2, 3, 5, 7)");
  const auto masked = [](const Tensor& rule) {
    AttentionOptions options;
    options.mask = rule;
    return options;
  };
  refuse(query, key, value, "a mask is boolean (true = may attend), this one is mask f64 (4, 6)",
         masked(f64({4, 6})));
  refuse(query, key, value, "the mask (2, 4, 6) does not broadcast to (2, 3, 4, 6)",
         masked(mask({2, 4, 6})));
  refuse(f64({2, 4, 5}), f64({2, 6, 5}), f64({2, 6, 7}),
         "the mask (2, 1, 4, 6) does not broadcast to (2, 4, 6)", masked(mask({2, 1, 4, 6})));
  const auto biased = [](const Tensor& bias) {
    AttentionOptions options;
    options.bias = bias;
    return options;
  };
  refuse(query, key, value, "dtypes differ: query f64 (2, 3, 4, 5), bias f32 (4, 6)",
         biased(f32({4, 6})));
  refuse(query, key, value, "the bias (6, 4) does not broadcast to (2, 3, 4, 6)",
         biased(f64({6, 4})));
  AttentionOptions options;
  options.dropout = 1;
  refuse(query, key, value, "the probability 1 is not in [0, 1)", options);
  options.dropout = -0.5;
  refuse(query, key, value, "the probability -0.5 is not in [0, 1)", options);
  options.dropout = 0;
  options.scale = std::numeric_limits<double>::infinity();
  refuse(query, key, value, "the scale inf is not finite", options);
  return cases;
}

}  // namespace

const std::vector<ErrorCase>& error_cases() {
  static const std::vector<ErrorCase> table = [] {
    std::vector<ErrorCase> all = operand_errors();
    const std::vector<ErrorCase> particular = particular_errors();
    all.insert(all.end(), particular.begin(), particular.end());
    const std::vector<ErrorCase> attention = attention_errors();
    all.insert(all.end(), attention.begin(), attention.end());
    return all;
  }();
  return table;
}

}  // namespace heed
