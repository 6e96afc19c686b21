#pragma once

#include <string>

#include "kernels/backend.h"

namespace heed::kernels {

// The contract on the host: rows are split over core's threads, products are OpenBLAS's, exp, tanh
// and their like are Highway's. Each topic has its file: elementwise.cpp, reduce.cpp, ...
class CpuBackend final : public Backend {
 public:
  CpuBackend();

  std::string description() const override;
  void fill(const Tensor& y, double value) override;
  void copy(const Tensor& x, const Tensor& y) override;
  void unary(UnaryOp op, const Tensor& x, const Tensor& y) override;
  void unary_backward(UnaryOp op, const Tensor& x, const Tensor& y, const Tensor& dy,
                      const Tensor& dx) override;
  void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) override;
  void compare(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& y) override;
  void affine(const Tensor& x, double scale, double shift, const Tensor& y) override;
  void where(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& y) override;
  void dropout(const Tensor& x, double p, const RandomState& random, const Tensor& y) override;
  void reduce(ReduceOp op, const Tensor& x, const Tensor& y) override;
  void arg_max(const Tensor& x, const Tensor& y) override;
  void top_k(const Tensor& x, const Tensor& values, const Tensor& indices) override;
  void sums_of_squares(std::span<const Tensor> xs, const Tensor& y) override;
  void all_finite(const Tensor& x, const Tensor& y) override;
  void matmul(const Tensor& a, const Tensor& b, const Tensor& y, double beta) override;
  void linear(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y) override;
  void gather_rows(const Tensor& table, const Tensor& ids, const Tensor& y) override;
  void scatter_add_rows(const Tensor& dy, const Tensor& ids, int64_t skip,
                        const Tensor& dtable) override;
  void softmax(const Tensor& x, const Tensor& mask, const Tensor& y) override;
  void log_softmax(const Tensor& x, const Tensor& mask, const Tensor& y) override;
  void softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) override;
  void log_softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) override;
  void cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing, int64_t ignore,
                     const Tensor& loss, const Tensor& nll, const Tensor& largest,
                     const Tensor& sum) override;
  void cross_entropy_backward(const Tensor& logits, const Tensor& targets, double smoothing,
                              int64_t ignore, const Tensor& largest, const Tensor& sum,
                              const Tensor& dloss, const Tensor& dlogits) override;
  void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
                  const Tensor& y, const Tensor& mean, const Tensor& rstd) override;
  void layer_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& mean,
                           const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                           const Tensor& dweight, const Tensor& dbias) override;
  void rms_norm(const Tensor& x, const Tensor& weight, double epsilon, const Tensor& y,
                const Tensor& rstd) override;
  void rms_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& rstd,
                         const Tensor& dy, const Tensor& dx, const Tensor& dweight) override;
  void rotary(const Tensor& x, const Tensor& positions, double base, bool half, bool inverse,
              const Tensor& y) override;
  void attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 const Tensor& bias, const AttentionRule& rule, const Tensor& y,
                 const Tensor& log_sum) override;
  void attention_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& mask, const Tensor& bias, const AttentionRule& rule,
                          const Tensor& y, const Tensor& log_sum, const Tensor& dy,
                          const Tensor& dquery, const Tensor& dkey, const Tensor& dvalue,
                          const Tensor& dbias) override;
  void gru_cell(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h, const Tensor& mask,
                const Tensor& y, const Tensor& gates) override;
  void gru_cell_backward(const Tensor& gates, const Tensor& gates_h, const Tensor& h,
                         const Tensor& mask, const Tensor& dy, const Tensor& dgates_x,
                         const Tensor& dgates_h, const Tensor& dh) override;
  void additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight,
                      const Tensor& scores) override;
  void additive_score_backward(const Tensor& query, const Tensor& keys, const Tensor& weight,
                               const Tensor& dscores, const Tensor& dquery, const Tensor& dkeys,
                               const Tensor& dweight) override;
  void additive_attention(const Tensor& query, const Tensor& keys, const Tensor& values,
                          const Tensor& mask, const Tensor& weight, const Tensor& weights,
                          const Tensor& context) override;
  void additive_attention_backward(const Tensor& query, const Tensor& keys, const Tensor& values,
                                   const Tensor& weight, const Tensor& weights,
                                   const Tensor& dweights, const Tensor& dcontext,
                                   const Tensor& dquery, const Tensor& dkeys, const Tensor& dvalues,
                                   const Tensor& dweight) override;
  void max_pairs(const Tensor& x, const Tensor& y) override;
  void max_pairs_backward(const Tensor& x, const Tensor& dy, const Tensor& dx) override;
  void add_scalars(std::span<const Tensor> terms, const Tensor& sums) override;
  void gradient_scale(const Tensor& squares, const Tensor& losses, double tokens, double clip,
                      const Tensor& scale, const Tensor& norm) override;
  void sgd_step(const SgdStep& step, const Tensor& gradient_scale,
                std::span<const Updated> parameters) override;
  void adam_step(const AdamStep& step, const Tensor& gradient_scale,
                 std::span<const Updated> parameters) override;
  void adadelta_step(const AdadeltaStep& step, const Tensor& gradient_scale,
                     std::span<const Updated> parameters) override;
};

}  // namespace heed::kernels
