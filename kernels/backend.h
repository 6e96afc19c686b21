#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/export.h"
#include "core/random.h"
#include "core/tensor.h"

// The contract of a device: every raw kernel heed needs, on one page. kernels/cpu and kernels/cuda
// implement it, one file a topic. A kernel computes numbers in memory that the caller allocated;
// it records nothing and allocates no results. Shapes and dtypes were checked by the caller (the
// differentiable functions of the autograd room); kernels only assert.
//
// Layouts: "any" means any strides, broadcast dimensions (stride 0) included; "dense" means
// contiguous. Outputs are dense unless said otherwise, and never overlap an input, except that an
// elementwise output may be the very same tensor as an input. Floating means f32 or f64; all
// floating arguments of a call have one dtype. A mask is boolean, true = may attend / is used.
namespace heed::kernels {

enum class UnaryOp : uint8_t {
  negate,
  absolute,
  square,
  square_root,
  exponential,
  logarithm,
  tanh,
  sigmoid,
  relu,
  gelu,       // x * Phi(x), the erf form
  gelu_tanh,  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  silu,       // x * sigmoid(x)
};

enum class BinaryOp : uint8_t { add, subtract, multiply, divide, maximum, minimum };

enum class CompareOp : uint8_t { equal, not_equal, less, less_equal };

enum class ReduceOp : uint8_t { sum, maximum };

// A parameter, its gradient, and what its optimizer keeps: SGD the velocity, Adam m and v, Adadelta
// the averages of squares and of squared steps. Dense; the parameters of a call have one dtype. The
// gradient that the rules below speak of is gradient_scale g; where that is NaN nothing changes.
struct Updated {
  Tensor p, g, first, second;
};

inline constexpr size_t most_scalars = 8;

// AdamW (Loshchilov & Hutter 2019, algorithm 2); Adam with L2 when decoupled is false
// (Kingma & Ba 2015). step counts from 1.
struct AdamStep {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  bool decoupled;
  int64_t step;
};

// Adadelta (Zeiler 2012, algorithm 1), times learning_rate.
struct AdadeltaStep {
  double learning_rate, rho, epsilon, weight_decay;
};

// v = momentum v + g; p -= learning_rate v.
struct SgdStep {
  double learning_rate, momentum, weight_decay;
};

// Of scaled dot-product attention. Query l sees keys s <= l + S - L when causal; dropout p keeps
// weight (b, h, l, s) when number i of random, its row-major index, is at least p.
struct AttentionRule {
  double scale;
  bool causal;
  double dropout;
  RandomState random;
};

class HEED_EXPORT Backend {
 public:
  virtual ~Backend() = default;
  // One line for the start of a run: the processor or card, its vector width, its BLAS.
  virtual std::string description() const = 0;

  // --- memory ---------------------------------------------------------------------------------
  // y = value. y: any layout, any dtype.
  virtual void fill(const Tensor& y, double value) = 0;
  // y = x, converted when the dtypes differ. x, y: any layout, equal shapes.
  virtual void copy(const Tensor& x, const Tensor& y) = 0;

  // --- elementwise ----------------------------------------------------------------------------
  // y = op(x). x: any.
  virtual void unary(UnaryOp op, const Tensor& x, const Tensor& y) = 0;
  // dx = dy * op'(x). Ops whose derivative is a function of y alone (square_root, exponential,
  // tanh, sigmoid, relu) read y, the others x; the one not read may be undefined. dy, x, y: any.
  virtual void unary_backward(UnaryOp op, const Tensor& x, const Tensor& y, const Tensor& dy,
                              const Tensor& dx) = 0;
  // y = op(a, b). a, b: any, expanded by the caller to y's shape. Floating or i32.
  virtual void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) = 0;
  // y = a op b, boolean. a, b: any, expanded to y's shape, any one dtype.
  virtual void compare(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& y) = 0;
  // y = scale * x + shift. x: any.
  virtual void affine(const Tensor& x, double scale, double shift, const Tensor& y) = 0;
  // y = condition ? a : b. All any, expanded to y's shape. b may hold anything where not chosen.
  virtual void where(const Tensor& condition, const Tensor& a, const Tensor& b,
                     const Tensor& y) = 0;
  // y = keep(i) ? x / (1 - p) : 0, keep(i) = philox_uniform(random, i) >= p, i row-major; p is not
  // rounded to f32 for the comparison. x: any.
  virtual void dropout(const Tensor& x, double p, const RandomState& random, const Tensor& y) = 0;

  // --- reductions -----------------------------------------------------------------------------
  // x: any, (d_0 .. d_n); y: the same rank with size 1 in each reduced dimension. A sum over
  // nothing is 0; a maximum over nothing is refused by the caller.
  virtual void reduce(ReduceOp op, const Tensor& x, const Tensor& y) = 0;
  // y (N) i32: the first index of the largest of each row, where NaN is larger than any number.
  // x (N, V) dense.
  virtual void arg_max(const Tensor& x, const Tensor& y) = 0;
  // The k largest of each row, NaN first, then the largest number, equal ones by index. x (N, V)
  // dense; values (N, k); indices (N, k) i32.
  virtual void top_k(const Tensor& x, const Tensor& values, const Tensor& indices) = 0;
  // y[i] = the sum of the squares of xs[i], added up in f64. xs: dense, of one dtype; y (n) f64.
  virtual void sums_of_squares(std::span<const Tensor> xs, const Tensor& y) = 0;
  // y (1) boolean: no inf and no NaN. x: any.
  virtual void all_finite(const Tensor& x, const Tensor& y) = 0;

  // --- products -------------------------------------------------------------------------------
  // y = a b + beta * y for every batch: a (..., M, K), b (..., K, N), y (..., M, N), batch
  // dimensions already expanded. a, b: any (BLAS reads row- and column-major matrices in place);
  // y's matrices have stride 1 along N. With beta = 0, y is not read.
  virtual void matmul(const Tensor& a, const Tensor& b, const Tensor& y, double beta) = 0;
  // y = x w^T + bias: x (N, I) dense, w (O, I) dense, bias (O) or undefined, y (N, O).
  virtual void linear(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y) = 0;

  // --- rows of a table ------------------------------------------------------------------------
  // y[i] = table[ids[i]]: table (V, C), ids (N) i32 dense within [0, V), y (N, C). Rows of table
  // and y are dense, at any distance.
  virtual void gather_rows(const Tensor& table, const Tensor& ids, const Tensor& y) = 0;
  // dtable[ids[i]] += dy[i], in ascending i for each row: dtable (V, C) was zeroed by the caller.
  // A row `skip` (or none: -1) gets nothing.
  virtual void scatter_add_rows(const Tensor& dy, const Tensor& ids, int64_t skip,
                                const Tensor& dtable) = 0;

  // --- softmax, over the last dimension ---------------------------------------------------------
  // y = softmax(x) over the entries whose mask is true, or its logarithm. A masked entry gives 0
  // (log: -inf) whatever x holds there; a row without any entry gives 0 (log: -inf) throughout.
  // x: dense; mask: any, expanded to x's shape, or undefined.
  virtual void softmax(const Tensor& x, const Tensor& mask, const Tensor& y) = 0;
  virtual void log_softmax(const Tensor& x, const Tensor& mask, const Tensor& y) = 0;
  // dx = y (dy - sum(dy y)): the Jacobian product a (delta - a). All dense.
  virtual void softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) = 0;
  // dx = dy - exp(y) sum(dy), 0 where y is -inf. All dense.
  virtual void log_softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) = 0;

  // --- losses -----------------------------------------------------------------------------------
  // For every row n with targets[n] != ignore: largest[n] = max_v logits[n, v],
  // sum[n] = sum_v exp(logits[n, v] - largest[n]), lse[n] = largest[n] + log(sum[n]),
  // nll[n] = lse[n] - logits[n, t], loss[n] = (1 - s) nll[n] + s / V sum_v (lse[n] - logits[n, v]).
  // An ignored row gives 0 (sum: 1) and is not read. logits (N, V) dense; targets (N) i32; all
  // others (N). Backward reads largest and sum: their lse, rounded, would cost it digits.
  virtual void cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing,
                             int64_t ignore, const Tensor& loss, const Tensor& nll,
                             const Tensor& largest, const Tensor& sum) = 0;
  // dlogits[n, v] = dloss[n] (exp(logits[n, v] - lse[n]) - (1 - s) [v = t] - s / V). dloss: any.
  // dlogits may be the very same tensor as logits.
  virtual void cross_entropy_backward(const Tensor& logits, const Tensor& targets, double smoothing,
                                      int64_t ignore, const Tensor& largest, const Tensor& sum,
                                      const Tensor& dloss, const Tensor& dlogits) = 0;

  // --- layer norm (Ba et al. 2016) --------------------------------------------------------------
  // y = (x - mean) rstd weight + bias over rows of C: x (N, C), weight (C), bias (C) or undefined,
  // mean, rstd (N), rstd = 1 / sqrt(var + epsilon), biased variance. All dense.
  virtual void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
                          const Tensor& y, const Tensor& mean, const Tensor& rstd) = 0;
  // dbias (C), or undefined where there is no bias. All dense.
  virtual void layer_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& mean,
                                   const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                                   const Tensor& dweight, const Tensor& dbias) = 0;

  // --- RMS norm (Zhang & Sennrich 2019) ---------------------------------------------------------
  // y = x rstd weight over rows of C: x (N, C) dense, weight (C), rstd (N) = 1 / sqrt(mean(x^2) +
  // epsilon).
  virtual void rms_norm(const Tensor& x, const Tensor& weight, double epsilon, const Tensor& y,
                        const Tensor& rstd) = 0;
  virtual void rms_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& rstd,
                                 const Tensor& dy, const Tensor& dx, const Tensor& dweight) = 0;

  // --- rotary positions (Su et al. 2021) --------------------------------------------------------
  // Turns pair i of each vector of D by positions / base^(2i / D), back when inverse; pairs are
  // (2i, 2i + 1), or (i, i + D / 2) when half. x, y (..., T, D): any; positions (..., T) i32: any,
  // expanded.
  virtual void rotary(const Tensor& x, const Tensor& positions, double base, bool half,
                      bool inverse, const Tensor& y) = 0;

  // --- scaled dot-product attention (Vaswani et al. 2017, 3.2.1) --------------------------------
  // y = dropout(softmax(scale query key^T + bias)) value, and log_sum (B, H, L), the logarithm of
  // the softmax's sum: inf in a row that may attend to nothing, whose y is 0. query (B, H, L, D),
  // key (B, H, S, D), value (B, H, S, E), y (B, H, L, E): any. mask, bias: any, expanded to
  // (B, H, L, S), or undefined. What a row may not attend to, NaN included, does not reach it.
  // Memory grows with L and S, never with L * S.
  virtual void attention(const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& mask, const Tensor& bias, const AttentionRule& rule,
                         const Tensor& y, const Tensor& log_sum) = 0;
  // All any. dbias (B, H, L, S) was zeroed by the caller, or is undefined when it is not wanted; it
  // is the one argument that grows with L * S.
  virtual void attention_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Tensor& mask, const Tensor& bias, const AttentionRule& rule,
                                  const Tensor& y, const Tensor& log_sum, const Tensor& dy,
                                  const Tensor& dquery, const Tensor& dkey, const Tensor& dvalue,
                                  const Tensor& dbias) = 0;

  // --- recurrent --------------------------------------------------------------------------------
  // GRU as PyTorch computes it (Cho et al. 2014 with the reset gate on the projected state):
  //   r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), y = (1 - z) n + z h
  // gates_x, gates_h (B, 3H) in the order r, z, n: gates_x with any stride between rows, gates_h
  // dense; h (B, H) dense.
  // Rows whose mask (B) is false keep h. gates (B, 3H) receives r, z, n for backward.
  virtual void gru_cell(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h,
                        const Tensor& mask, const Tensor& y, const Tensor& gates) = 0;
  // dgates_x, dgates_h (B, 3H), dh (B, H) dense; rows whose mask is false give dh = dy, else 0.
  virtual void gru_cell_backward(const Tensor& gates, const Tensor& gates_h, const Tensor& h,
                                 const Tensor& mask, const Tensor& dy, const Tensor& dgates_x,
                                 const Tensor& dgates_h, const Tensor& dh) = 0;

  // --- additive attention (Bahdanau et al. 2015, A.1.2) -----------------------------------------
  // scores[b, s] = sum_a weight[a] tanh(query[b, a] + keys[b, s, a]):
  // query (B, A), keys (B, S, A), weight (A), scores (B, S); all dense.
  virtual void additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight,
                              const Tensor& scores) = 0;
  // Where dscores is 0 keys are not read: masked positions may hold anything.
  virtual void additive_score_backward(const Tensor& query, const Tensor& keys,
                                       const Tensor& weight, const Tensor& dscores,
                                       const Tensor& dquery, const Tensor& dkeys,
                                       const Tensor& dweight) = 0;

  // weights = softmax(scores) over the positions whose mask is true, as softmax has it, and
  // context[b] = sum_s weights[b, s] values[b, s]; nothing passes a weight of 0. mask (B, S): any,
  // or undefined; values (B, S, C), weights (B, S), context (B, C); all others dense.
  virtual void additive_attention(const Tensor& query, const Tensor& keys, const Tensor& values,
                                  const Tensor& mask, const Tensor& weight, const Tensor& weights,
                                  const Tensor& context) = 0;
  // All dense.
  virtual void additive_attention_backward(const Tensor& query, const Tensor& keys,
                                           const Tensor& values, const Tensor& weight,
                                           const Tensor& weights, const Tensor& dweights,
                                           const Tensor& dcontext, const Tensor& dquery,
                                           const Tensor& dkeys, const Tensor& dvalues,
                                           const Tensor& dweight) = 0;

  // --- maxout over pairs (Goodfellow et al. 2013) -----------------------------------------------
  // y[n, i] = max(x[n, 2i], x[n, 2i + 1]): x (N, 2C) dense, y (N, C).
  virtual void max_pairs(const Tensor& x, const Tensor& y) = 0;
  // The gradient goes to the larger one, to the first of equals. x, dx (N, 2C), dy (N, C) dense.
  virtual void max_pairs_backward(const Tensor& x, const Tensor& dy, const Tensor& dx) = 0;

  // --- updates of parameters --------------------------------------------------------------------
  // sums[i] += terms[i]: scalars of one floating dtype, at most most_scalars; sums (n) f64, dense.
  virtual void add_scalars(std::span<const Tensor> terms, const Tensor& sums) = 0;
  // Of gradients that are sums over `tokens`, squares (n) being their sums of squares: norm =
  // sqrt(sum(squares)) / tokens, and scale, which makes them those of the mean, of a norm of at
  // most `clip` where that is not 0. NaN for a scale unless norm and losses (m) are finite. All
  // f64, dense; scale and norm scalars.
  virtual void gradient_scale(const Tensor& squares, const Tensor& losses, double tokens,
                              double clip, const Tensor& scale, const Tensor& norm) = 0;
  // Each parameter with its states, in place. gradient_scale: f64 scalar.
  virtual void sgd_step(const SgdStep& step, const Tensor& gradient_scale,
                        std::span<const Updated> parameters) = 0;
  virtual void adam_step(const AdamStep& step, const Tensor& gradient_scale,
                         std::span<const Updated> parameters) = 0;
  virtual void adadelta_step(const AdadeltaStep& step, const Tensor& gradient_scale,
                             std::span<const Updated> parameters) = 0;
};

// The backend of a device. Throws InputError when this build or machine lacks it.
HEED_EXPORT Backend& backend(Device device);
inline Backend& backend(const Tensor& tensor) { return backend(tensor.device()); }

// Fused kernels (the default) or their composed twins, for debugging. Read by the autograd room.
HEED_EXPORT bool fused_kernels();
HEED_EXPORT void set_fused_kernels(bool fused);

}  // namespace heed::kernels
