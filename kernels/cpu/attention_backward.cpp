#include "core/threads.h"
#include "kernels/cpu/attention_problem.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"

namespace heed::kernels {
namespace {

// Dao et al. 2022, algorithm 4: the weights of each tile are worked out again from the log-sums.
// With P the weights, f the factors of dropout, dP = dy value^T, delta = sum(dy y) over each row:
//   dS = P (f dP - delta) = dbias
//   dvalue = (f P)^T dy, dkey = scale dS^T query, dquery = scale dS key
template <typename T>
class Backward {
 public:
  Backward(const AttentionProblem<T>& problem, const Heads<T>& y, const Heads<T>& dy,
           const T* log_sum, const Heads<T>& dbias)
      : problem_(problem),
        kernels_(problem.kernels),
        y_(y),
        dy_(dy),
        log_sum_(log_sum),
        dbias_(dbias),
        row_(round_up(problem.width, kernels_.lanes)),
        value_row_(round_up(problem.value_width, kernels_.lanes)),
        queries_(scratch_.panels(problem.queries, problem.width)),
        cotangents_(scratch_.panels(problem.queries, problem.value_width)),
        delta_(scratch_.take(problem.queries)),
        keys_(scratch_.panels(key_block, problem.width)),
        keys_transposed_(scratch_.panels(problem.width, key_block)),
        values_transposed_(scratch_.panels(problem.value_width, key_block)),
        dkeys_(scratch_.take(key_block * row_)),
        dvalues_(scratch_.take(key_block * value_row_)),
        weights_(scratch_.take(query_block * key_block)),
        dscores_(scratch_.take(query_block * key_block)) {
    if (problem.rule.dropout > 0) {
      factors_ = scratch_.take(query_block * key_block);
      dropped_ = scratch_.take(query_block * key_block);
    }
  }

  // Keys s.. of a head: writes their gradients, and adds dS key to dqueries (L, row).
  void block(int64_t head, int64_t s, T* dqueries, const Heads<T>& dkey, const Heads<T>& dvalue) {
    pack(head);
    const int64_t count = std::min(key_block, problem_.keys - s);
    kernels_.pack_transposed(problem_.key.from(head, s), problem_.width, count, problem_.scale(),
                             keys_transposed_);
    kernels_.pack_transposed(problem_.value.from(head, s), problem_.value_width, count, T{1},
                             values_transposed_);
    keys_finite_ = kernels_.pack(problem_.key.from(head, s), count, problem_.width, T{1}, keys_);
    std::fill_n(dkeys_, count * row_, T{0});
    std::fill_n(dvalues_, count * value_row_, T{0});
    for (int64_t l = 0; l < problem_.queries; l += query_block) {
      const ScoreTile<T> tile = problem_.tile(weights_, l, s);
      if (tile.keys > 0) {
        add_tile(head, l, s, tile, dqueries + l * row_);
      }
    }
    write(dkeys_, row_, count, problem_.width, problem_.scale(), dkey, head, s);
    write(dvalues_, value_row_, count, problem_.value_width, T{1}, dvalue, head, s);
  }

  // Rows of scratch into a gradient, from (row, column) on.
  void write(const T* from, int64_t leading, int64_t rows, int64_t columns, T scale,
             const Heads<T>& to, int64_t head, int64_t row, int64_t column = 0) const {
    kernels_.unpack(from, leading, rows, columns, scale, to.at(head, row, column), to.row_stride(),
                    to.column_stride());
  }

 private:
  void pack(int64_t head) {
    if (head == packed_head_) {
      return;
    }
    packed_head_ = head;
    queries_finite_.clear();
    cotangents_finite_.clear();
    for (int64_t l = 0; l < problem_.queries; l += query_block) {
      const int64_t rows = std::min(query_block, problem_.queries - l);
      queries_finite_.push_back(kernels_.pack(problem_.query.from(head, l), rows, problem_.width,
                                              T{1}, queries_.from_row(l)));
      cotangents_finite_.push_back(kernels_.pack(dy_.from(head, l), rows, problem_.value_width,
                                                 T{1}, cotangents_.from_row(l)));
    }
    kernels_.row_products(y_.from(head, 0), dy_.from(head, 0), problem_.queries,
                          problem_.value_width, delta_);
  }

  void add_tile(int64_t head, int64_t l, int64_t s, const ScoreTile<T>& tile, T* dqueries) {
    const auto block = static_cast<size_t>(l / query_block);
    problem_.scores(head, l, s, keys_transposed_, tile);
    kernels_.weights(tile, log_sum_ + head * problem_.queries + l);
    kernels_.product(tile.rows, tile.keys, problem_.value_width, dy_.from(head, l),
                     values_transposed_, dscores_, tile.leading, false);
    const T* used = weights_;
    if (factors_ != nullptr) {
      problem_.dropout_factors(head, l, s, tile, factors_);
      multiply(tile, weights_, factors_, dropped_);
      multiply(tile, dscores_, factors_, dscores_);
      used = dropped_;
    }
    problem_.add_product(tile.keys, problem_.value_width, tile.rows, {used, 1, tile.leading},
                         cotangents_.from_row(l), cotangents_finite_[block], dvalues_, value_row_);
    kernels_.score_gradient(tile, dscores_, delta_ + l);
    if (dbias_.defined()) {
      write(dscores_, tile.leading, tile.rows, tile.keys, T{1}, dbias_, head, l, s);
    }
    problem_.add_product(tile.keys, problem_.width, tile.rows, {dscores_, 1, tile.leading},
                         queries_.from_row(l), queries_finite_[block], dkeys_, row_);
    problem_.add_product(tile.rows, problem_.width, tile.keys, {dscores_, tile.leading, 1}, keys_,
                         keys_finite_, dqueries, row_);
  }

  const AttentionProblem<T>& problem_;
  const TileKernels<T>& kernels_;
  Heads<T> y_;
  Heads<T> dy_;
  const T* log_sum_;
  Heads<T> dbias_;
  Scratch<T> scratch_;
  int64_t row_;        // elements of an accumulated row, in whole vectors
  int64_t value_row_;  // the same of values
  // Of a head:
  Panels<T> queries_;     // (L, D)
  Panels<T> cotangents_;  // (L, E)
  T* delta_;
  std::vector<bool> queries_finite_;  // one a query block
  std::vector<bool> cotangents_finite_;
  int64_t packed_head_ = -1;
  // Of a key block:
  Panels<T> keys_;               // (keys, D)
  Panels<T> keys_transposed_;    // (D, keys), times scale
  Panels<T> values_transposed_;  // (E, keys)
  bool keys_finite_ = true;
  T* dkeys_;
  T* dvalues_;
  // Of a tile:
  T* weights_;
  T* dscores_;
  T* factors_ = nullptr;
  T* dropped_ = nullptr;
};

}  // namespace

void CpuBackend::attention_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& mask, const Tensor& bias,
                                    const AttentionRule& rule, const Tensor& y,
                                    const Tensor& log_sum, const Tensor& dy, const Tensor& dquery,
                                    const Tensor& dkey, const Tensor& dvalue, const Tensor& dbias) {
  dispatch_floating("attention_backward", query.dtype(), [&]<typename T>(T) {
    const AttentionProblem<T> problem(query, key, value, mask, bias, rule);
    const Heads<T> dqueries(dquery);
    const Heads<T> dkeys(dkey);
    const Heads<T> dvalues(dvalue);
    // A head is one unit of work, or, where heads are few, several: chunk c takes key blocks c,
    // c + chunks, ..., which under a causal mask are equal work, and gathers a part of dquery.
    constexpr int64_t least_units = 16;
    const int64_t chunks =
        std::clamp<int64_t>((least_units + problem.heads - 1) / std::max<int64_t>(1, problem.heads),
                            1, std::max<int64_t>(1, problem.key_blocks()));
    const int64_t row = round_up(problem.width, problem.kernels.lanes);
    Scratch<T> shared;
    T* parts = chunks > 1 ? shared.take(chunks * problem.heads * problem.queries * row) : nullptr;
    const int64_t work =
        problem.queries * problem.keys * (3 * problem.width + 2 * problem.value_width) / chunks;
    parallel_for(problem.heads * chunks, units_a_part(work), [&](int64_t begin, int64_t end) {
      Backward<T> backward(problem, Heads<T>(y), Heads<T>(dy), log_sum.data<T>(), Heads<T>(dbias));
      Scratch<T> own;
      T* gathered = chunks > 1 ? nullptr : own.take(problem.queries * row);
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t head = unit / chunks;
        T* to = chunks > 1 ? parts + unit * problem.queries * row : gathered;
        std::fill_n(to, problem.queries * row, T{0});
        for (int64_t b = unit % chunks; b < problem.key_blocks(); b += chunks) {
          backward.block(head, b * key_block, to, dkeys, dvalues);
        }
        if (chunks == 1) {
          backward.write(to, row, problem.queries, problem.width, problem.scale(), dqueries, head,
                         0);
        }
      }
    });
    if (chunks > 1) {
      for_each_row(problem.heads * problem.queries, chunks * row, [&](int64_t n) {
        const int64_t head = n / problem.queries;
        const int64_t l = n % problem.queries;
        T* first = parts + (head * chunks * problem.queries + l) * row;
        for (int64_t c = 1; c < chunks; ++c) {
          const T* other = first + c * problem.queries * row;
          for (int64_t d = 0; d < problem.width; ++d) {
            first[d] += other[d];
          }
        }
        problem.kernels.unpack(first, row, 1, problem.width, problem.scale(), dqueries.at(head, l),
                               dqueries.row_stride(), dqueries.column_stride());
      });
    }
  });
}

}  // namespace heed::kernels
