#include <cmath>
#include <limits>

#include "core/threads.h"
#include "kernels/cpu/attention_problem.h"
#include "kernels/cpu/cpu_backend.h"

namespace heed::kernels {
namespace {

// So few queries, as in decoding, read keys and values where they lie: packing costs more than the
// products.
constexpr int64_t few_queries = 3;

// Dao et al. 2022 (FlashAttention), algorithm 1: blocks of queries pass over the keys tile by tile
// with a running maximum and sum.
template <typename T>
class Forward {
 public:
  explicit Forward(const AttentionProblem<T>& problem)
      : problem_(problem),
        kernels_(problem.kernels),
        packs_(problem.queries > few_queries),
        output_leading_(round_up(problem.value_width, kernels_.lanes)),
        scores_(scratch_.take(tile_size())),
        factors_(problem.rule.dropout > 0 ? scratch_.take(tile_size()) : nullptr),
        output_(scratch_.take(std::min(query_block, problem.queries) * output_leading_)) {
    if (packs_) {
      keys_ = scratch_.panels(problem.width, problem.keys);
      values_ = scratch_.panels(problem.keys, problem.value_width);
    }
  }

  // Queries l.. of a head.
  void block(int64_t head, int64_t l, const Heads<T>& y, T* log_sum) {
    pack(head);
    const int64_t rows = std::min(query_block, problem_.queries - l);
    std::fill_n(output_, rows * output_leading_, T{0});
    std::fill_n(maximum_, rows, -std::numeric_limits<T>::infinity());
    std::fill_n(sum_, rows, T{0});
    const int64_t seen = problem_.limit(l + rows - 1);
    for (int64_t s = 0; s < seen; s += key_block) {
      add_tile(head, l, s);
    }
    for (int64_t r = 0; r < rows; ++r) {
      // A row that may attend to nothing has the sum 0; exp(score - inf) is 0 in backward.
      const T factor = sum_[r] == 0 ? T{0} : 1 / sum_[r];
      log_sum[r] =
          sum_[r] == 0 ? std::numeric_limits<T>::infinity() : maximum_[r] + std::log(sum_[r]);
      kernels_.unpack(output_ + r * output_leading_, output_leading_, 1, problem_.value_width,
                      factor, y.at(head, l + r), y.row_stride(), y.column_stride());
    }
  }

 private:
  int64_t tile_size() const { return std::min(query_block, problem_.queries) * key_block; }

  void pack(int64_t head) {
    if (!packs_ || head == packed_head_) {
      return;
    }
    packed_head_ = head;
    kernels_.pack_transposed(problem_.key.from(head, 0), problem_.width, problem_.keys,
                             problem_.scale(), keys_);
    values_finite_.clear();
    for (int64_t s = 0; s < problem_.keys; s += key_block) {
      values_finite_.push_back(kernels_.pack(problem_.value.from(head, s),
                                             std::min(key_block, problem_.keys - s),
                                             problem_.value_width, T{1}, values_.from_row(s)));
    }
  }

  void add_tile(int64_t head, int64_t l, int64_t s) {
    const ScoreTile<T> tile = problem_.tile(scores_, l, s);
    if (packs_) {
      problem_.scores(head, l, s, keys_.from_column(s), tile);
    } else {
      scores_in_place(head, l, s, tile);
    }
    kernels_.online_softmax(tile, maximum_, sum_, output_, output_leading_, problem_.value_width);
    if (factors_ != nullptr) {
      problem_.dropout_factors(head, l, s, tile, factors_);
      multiply(tile, scores_, factors_, scores_);
    }
    if (packs_) {
      problem_.add_product(tile.rows, problem_.value_width, tile.keys, {scores_, tile.leading, 1},
                           values_.from_row(s), values_finite_[static_cast<size_t>(s / key_block)],
                           output_, output_leading_);
    } else {
      for (int64_t r = 0; r < tile.rows; ++r) {
        kernels_.add_rows(scores_ + r * tile.leading, problem_.value.from(head, s), tile.keys,
                          problem_.value_width, output_ + r * output_leading_);
      }
    }
  }

  // As problem_.scores.
  void scores_in_place(int64_t head, int64_t l, int64_t s, const ScoreTile<T>& tile) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      T* row = tile.data + r * tile.leading;
      const Strided<T> query{problem_.query.at(head, l + r), 0, problem_.query.column_stride()};
      kernels_.row_products(query, problem_.key.from(head, s), tile.keys, problem_.width, row);
      for (int64_t j = 0; j < tile.keys; ++j) {
        row[j] *= problem_.scale();
      }
    }
    problem_.bias_and_mask(head, l, s, tile);
  }

  const AttentionProblem<T>& problem_;
  const TileKernels<T>& kernels_;
  bool packs_;
  Scratch<T> scratch_;
  int64_t output_leading_;
  Panels<T> keys_{};    // (D, S), times scale
  Panels<T> values_{};  // (S, E)
  T* scores_;
  T* factors_;
  T* output_;  // of one block, before the division by the sum
  T maximum_[query_block];
  T sum_[query_block];
  std::vector<bool> values_finite_;  // one a key block
  int64_t packed_head_ = -1;
};

// Under a causal mask later blocks see more: the order first, last, second, last but one, ... gives
// equal work to equal parts.
int64_t balanced(int64_t block, int64_t blocks) {
  return block % 2 == 0 ? block / 2 : blocks - 1 - block / 2;
}

}  // namespace

void CpuBackend::attention(const Tensor& query, const Tensor& key, const Tensor& value,
                           const Tensor& mask, const Tensor& bias, const AttentionRule& rule,
                           const Tensor& y, const Tensor& log_sum) {
  dispatch_floating("attention", query.dtype(), [&]<typename T>(T) {
    const AttentionProblem<T> problem(query, key, value, mask, bias, rule);
    const Heads<T> output(y);
    const int64_t blocks = problem.query_blocks();
    const int64_t work = std::min(problem.queries, query_block) * problem.keys *
                         (problem.width + problem.value_width);
    parallel_for(problem.heads * blocks, units_a_part(work), [&](int64_t begin, int64_t end) {
      Forward<T> forward(problem);
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t head = unit / blocks;
        const int64_t l = balanced(unit % blocks, blocks) * query_block;
        forward.block(head, l, output, log_sum.data<T>() + head * problem.queries + l);
      }
    });
  });
}

}  // namespace heed::kernels
