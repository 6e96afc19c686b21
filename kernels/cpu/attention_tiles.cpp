#include "kernels/cpu/attention_tiles.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

// Arrays of vectors need vectors of a known size.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_tiles.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
HWY_INLINE int64_t lanes() {
  return static_cast<int64_t>(hn::Lanes(Tag<T>()));
}

// A micro tile of rows by vectors is held in registers, of which there are 16 or 32.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int most_vectors = 2;
#else
constexpr int most_vectors = 4;
#endif
constexpr int most_rows = 6;

// --- products ----------------------------------------------------------------------------------

template <typename T, int rows, int vectors>
void micro_product(int64_t k, const Strided<T>& a, const T* HWY_RESTRICT b, int64_t b_leading,
                   T* HWY_RESTRICT c, int64_t c_leading, bool add) {
  const Tag<T> d;
  hn::Vec<Tag<T>> sum[rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) {
      sum[i][j] = hn::Zero(d);
    }
  }
  const T* HWY_RESTRICT column = a.data;
  for (int64_t p = 0; p < k; ++p) {
    hn::Vec<Tag<T>> right[vectors];
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) {
      right[j] = hn::LoadU(d, b + j * lanes<T>());
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const auto left = hn::Set(d, column[i * a.row_stride]);
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) {
        sum[i][j] = hn::MulAdd(left, right[j], sum[i][j]);
      }
    }
    b += b_leading;
    column += a.column_stride;
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) {
      T* at = c + i * c_leading + j * lanes<T>();
      hn::StoreU(add ? hn::Add(hn::LoadU(d, at), sum[i][j]) : sum[i][j], d, at);
    }
  }
}

template <typename T>
using MicroProduct = void (*)(int64_t, const Strided<T>&, const T*, int64_t, T*, int64_t, bool);

// micro_products[r - 1][v - 1] does r rows and v vectors.
template <typename T, int rows, int... v>
constexpr std::array<MicroProduct<T>, most_vectors> of_rows(std::integer_sequence<int, v...>) {
  return {micro_product<T, rows, v + 1>...};
}
template <typename T, int... r>
constexpr std::array<std::array<MicroProduct<T>, most_vectors>, most_rows> of_all_rows(
    std::integer_sequence<int, r...>) {
  return {of_rows<T, r + 1>(std::make_integer_sequence<int, most_vectors>())...};
}
template <typename T>
constexpr auto micro_products = of_all_rows<T>(std::make_integer_sequence<int, most_rows>());

template <typename T>
void product(int64_t m, int64_t n, int64_t k, const Strided<T>& a, const Panels<T>& b, T* c,
             int64_t c_leading, bool add) {
  const T* panel = b.data;
  for (int64_t j = 0; j < n; j += b.width, panel += b.panel_stride) {
    const int64_t vectors = (std::min(b.width, n - j) + lanes<T>() - 1) / lanes<T>();
    for (int64_t i = 0; i < m; i += most_rows) {
      const int64_t rows = std::min<int64_t>(most_rows, m - i);
      const Strided<T> block = {a.data + i * a.row_stride, a.row_stride, a.column_stride};
      micro_products<T>[static_cast<size_t>(rows - 1)][static_cast<size_t>(vectors - 1)](
          k, block, panel, b.width, c + i * c_leading + j, c_leading, add);
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// to (rows, columns) = scale * from^T, from (columns, rows) dense: four by four through registers.
HWY_INLINE void transpose_blocks(const float* from, int64_t stride, int64_t rows, int64_t columns,
                                 float scale, float* to, int64_t leading) {
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto factor = hn::Set(d, scale);
  for (int64_t c = 0; c < columns; c += 4) {
    for (int64_t r = 0; r < rows; r += 4) {
      const float* source = from + c * stride + r;
      float* block = to + r * leading + c;
      const auto a = hn::Mul(factor, hn::LoadU(d, source));
      const auto b = hn::Mul(factor, hn::LoadU(d, source + stride));
      const auto e = hn::Mul(factor, hn::LoadU(d, source + 2 * stride));
      const auto f = hn::Mul(factor, hn::LoadU(d, source + 3 * stride));
      const auto ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
      const auto ef = hn::BitCast(pairs, hn::InterleaveLower(d, e, f));
      const auto ab_upper = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
      const auto ef_upper = hn::BitCast(pairs, hn::InterleaveUpper(d, e, f));
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ef)), d, block);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ef)), d, block + leading);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_upper, ef_upper)), d,
                 block + 2 * leading);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_upper, ef_upper)), d,
                 block + 3 * leading);
    }
  }
}

#endif

// One panel; adds 0 times every element to check.
template <typename T>
void pack_panel(const Strided<T>& x, int64_t rows, int64_t columns, T scale, T* HWY_RESTRICT panel,
                int64_t width, hn::Vec<Tag<T>>& check) {
  const Tag<T> d;
  const int64_t dense = x.column_stride == 1 ? columns / lanes<T>() * lanes<T>() : 0;
  T rest = 0;
  for (int64_t r = 0; r < rows; ++r, panel += width) {
    const T* HWY_RESTRICT row = x.data + r * x.row_stride;
    int64_t c = 0;
    for (; c < dense; c += lanes<T>()) {
      const auto values = hn::LoadU(d, row + c);
      check = hn::MulAdd(values, hn::Zero(d), check);
      hn::StoreU(hn::Mul(values, hn::Set(d, scale)), d, panel + c);
    }
    for (; c < columns; ++c) {
      const T value = row[c * x.column_stride];
      rest += value * 0;
      panel[c] = value * scale;
    }
    std::fill(panel + columns, panel + width, T{0});
  }
  check = hn::Add(check, hn::Set(d, rest));
}

template <typename T>
bool pack(const Strided<T>& x, int64_t rows, int64_t columns, T scale, const Panels<T>& to) {
  const Tag<T> d;
  auto check = hn::Zero(d);
  for (int64_t begin = 0; begin < columns; begin += to.width) {
    const Strided<T> part = {x.data + begin * x.column_stride, x.row_stride, x.column_stride};
    const int64_t count = std::min(to.width, columns - begin);
    T* panel = to.data + begin / to.width * to.panel_stride;
    pack_panel(part, rows, count, scale, panel, to.width, check);
  }
  return hn::AllTrue(d, hn::Eq(check, hn::Zero(d)));
}

template <typename T>
void pack_transposed(const Strided<T>& x, int64_t rows, int64_t columns, T scale,
                     const Panels<T>& to) {
  for (int64_t begin = 0; begin < columns; begin += to.width) {
    const T* from = x.data + begin * x.row_stride;
    const int64_t count = std::min(to.width, columns - begin);
    T* panel = to.data + begin / to.width * to.panel_stride;
    int64_t blocked_rows = 0;
    int64_t blocked_columns = 0;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (sizeof(T) == 4) {
      if (x.column_stride == 1) {
        blocked_rows = rows / 4 * 4;
        blocked_columns = count / 4 * 4;
        transpose_blocks(from, x.row_stride, blocked_rows, blocked_columns, scale, panel, to.width);
      }
    }
#endif
    for (int64_t r = 0; r < rows; ++r) {
      T* row = panel + r * to.width;
      for (int64_t c = r < blocked_rows ? blocked_columns : 0; c < count; ++c) {
        row[c] = scale * from[c * x.row_stride + r * x.column_stride];
      }
      std::fill(row + count, row + to.width, T{0});
    }
  }
}

template <typename T>
void unpack(const T* from, int64_t from_leading, int64_t rows, int64_t columns, T scale, T* to,
            int64_t row_stride, int64_t column_stride) {
  const Tag<T> d;
  const int64_t dense = column_stride == 1 ? columns / lanes<T>() * lanes<T>() : 0;
  for (int64_t r = 0; r < rows; ++r, from += from_leading, to += row_stride) {
    int64_t c = 0;
    for (; c < dense; c += lanes<T>()) {
      hn::StoreU(hn::Mul(hn::LoadU(d, from + c), hn::Set(d, scale)), d, to + c);
    }
    for (; c < columns; ++c) {
      to[c * column_stride] = scale * from[c];
    }
  }
}

template <typename T>
void row_products(const Strided<T>& a, const Strided<T>& b, int64_t rows, int64_t columns,
                  T* sums) {
  const Tag<T> d;
  const bool both_dense = a.column_stride == 1 && b.column_stride == 1;
  const int64_t dense = both_dense ? columns / lanes<T>() * lanes<T>() : 0;
  for (int64_t r = 0; r < rows; ++r) {
    const T* left = a.data + r * a.row_stride;
    const T* right = b.data + r * b.row_stride;
    auto sum = hn::Zero(d);
    int64_t c = 0;
    for (; c < dense; c += lanes<T>()) {
      sum = hn::MulAdd(hn::LoadU(d, left + c), hn::LoadU(d, right + c), sum);
    }
    T rest = 0;
    for (; c < columns; ++c) {
      rest += left[c * a.column_stride] * right[c * b.column_stride];
    }
    sums[r] = hn::GetLane(hn::SumOfLanes(d, sum)) + rest;
  }
}

// Columns begin .. begin + vectors * lanes of add_rows, their sums in registers while rows pass by.
template <int vectors, typename T>
void add_rows_part(const T* factors, const T* HWY_RESTRICT x, int64_t row_stride, int64_t rows,
                   T* HWY_RESTRICT sum) {
  const Tag<T> d;
  hn::Vec<Tag<T>> sums[vectors];
#pragma GCC unroll 4
  for (int64_t j = 0; j < vectors; ++j) {
    sums[j] = hn::LoadU(d, sum + j * lanes<T>());
  }
  for (int64_t r = 0; r < rows; ++r, x += row_stride) {
    if (factors[r] != 0) {
#pragma GCC unroll 4
      for (int64_t j = 0; j < vectors; ++j) {
        sums[j] = hn::MulAdd(hn::Set(d, factors[r]), hn::LoadU(d, x + j * lanes<T>()), sums[j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int64_t j = 0; j < vectors; ++j) {
    hn::StoreU(sums[j], d, sum + j * lanes<T>());
  }
}

template <typename T>
void add_rows(const T* factors, const Strided<T>& x, int64_t rows, int64_t columns, T* sum) {
  int64_t c = 0;
  if (x.column_stride == 1) {
    for (; c + 4 * lanes<T>() <= columns; c += 4 * lanes<T>()) {
      add_rows_part<4>(factors, x.data + c, x.row_stride, rows, sum + c);
    }
    for (; c + lanes<T>() <= columns; c += lanes<T>()) {
      add_rows_part<1>(factors, x.data + c, x.row_stride, rows, sum + c);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t rest = c; rest < columns && factors[r] != 0; ++rest) {
      sum[rest] += factors[r] * x.data[r * x.row_stride + rest * x.column_stride];
    }
  }
}

// --- passes over a tile ------------------------------------------------------------------------

template <typename T>
void add_bias(const ScoreTile<T>& scores, const Strided<T>& bias) {
  const Tag<T> d;
  for (int64_t r = 0; r < scores.rows; ++r) {
    T* row = scores.data + r * scores.leading;
    const T* terms = bias.data + r * bias.row_stride;
    int64_t j = 0;
    if (bias.column_stride == 1) {
      for (; j + lanes<T>() <= scores.keys; j += lanes<T>()) {
        hn::StoreU(hn::Add(hn::LoadU(d, row + j), hn::LoadU(d, terms + j)), d, row + j);
      }
    }
    for (; j < scores.keys; ++j) {
      row[j] += terms[j * bias.column_stride];
    }
  }
}

// The bytes of a mask as numbers, 0 and 1.
HWY_INLINE hn::Vec<Tag<float>> numbers(Tag<float> d, const uint8_t* mask) {
  const hn::Rebind<uint8_t, Tag<float>> bytes;
  const hn::Rebind<int32_t, Tag<float>> words;
  return hn::ConvertTo(d, hn::PromoteTo(words, hn::LoadU(bytes, mask)));
}
HWY_INLINE hn::Vec<Tag<double>> numbers(Tag<double> d, const uint8_t* mask) {
  const hn::Rebind<uint8_t, Tag<double>> bytes;
  const hn::Rebind<int32_t, Tag<double>> words;
  return hn::PromoteTo(d, hn::PromoteTo(words, hn::LoadU(bytes, mask)));
}

template <typename T>
void apply_mask(const ScoreTile<T>& scores, const Strided<bool>& mask) {
  const Tag<T> d;
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  for (int64_t r = 0; r < scores.rows; ++r) {
    T* row = scores.data + r * scores.leading;
    const bool* may = mask.data + r * mask.row_stride;
    int64_t j = 0;
    if (mask.column_stride == 1) {
      for (; j + lanes<T>() <= scores.keys; j += lanes<T>()) {
        const auto flags = numbers(d, reinterpret_cast<const uint8_t*>(may + j));
        const auto masked = hn::Eq(flags, hn::Zero(d));
        hn::StoreU(hn::IfThenElse(masked, hn::Set(d, nothing), hn::LoadU(d, row + j)), d, row + j);
      }
    }
    for (; j < scores.keys; ++j) {
      row[j] = may[j * mask.column_stride] ? row[j] : nothing;
    }
  }
}

// exp(x), NaN for NaN, for x that does not overflow: a score less its maximum or log-sum.
template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  // Highway's Exp gives 0 for NaN.
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

// Fills the last vector of the entries within the limit up with -inf, whose exp is 0, and what
// follows with zeros. Returns the entries to work on, in whole vectors.
template <typename T>
HWY_INLINE int64_t close_row(const ScoreTile<T>& scores, int64_t r) {
  T* row = scores.data + r * scores.leading;
  const int64_t limit = scores.limit(r);
  const int64_t used = (limit + lanes<T>() - 1) / lanes<T>() * lanes<T>();
  std::fill(row + limit, row + used, -std::numeric_limits<T>::infinity());
  if (used < scores.keys) {
    std::fill(row + used, row + scores.keys, T{0});
  }
  return used;
}

// row = exp(row - shift) over whole vectors, 0 for what is masked whatever the shift; returns the
// sum.
template <typename T>
HWY_INLINE T exp_minus(T* row, int64_t n, T shift) {
  const Tag<T> d;
  const auto s = hn::Set(d, shift);
  const auto masked = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < n; j += lanes<T>()) {
    const auto score = hn::LoadU(d, row + j);
    const auto e = hn::IfThenZeroElse(hn::Eq(score, masked), exp_of(d, hn::Sub(score, s)));
    hn::StoreU(e, d, row + j);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <typename T>
void online_softmax(const ScoreTile<T>& scores, T* maximum, T* sum, T* output,
                    int64_t output_leading, int64_t columns) {
  const Tag<T> d;
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  for (int64_t r = 0; r < scores.rows; ++r) {
    T* row = scores.data + r * scores.leading;
    const int64_t used = close_row(scores, r);
    auto largest = hn::Set(d, maximum[r]);
    for (int64_t j = 0; j < used; j += lanes<T>()) {
      largest = hn::Max(largest, hn::LoadU(d, row + j));
    }
    const T before = maximum[r];
    const T now = hn::GetLane(hn::MaxOfLanes(d, largest));
    // While a row has seen nothing its exponentials are those of -inf, 0; NaN stays NaN.
    const T added = exp_minus(row, used, now == nothing ? T{0} : now);
    if (now == before || before == nothing) {
      sum[r] += added;
    } else {
      const T factor = std::exp(before - now);
      sum[r] = sum[r] * factor + added;
      T* gathered = output + r * output_leading;
      for (int64_t j = 0; j < columns; j += lanes<T>()) {
        hn::StoreU(hn::Mul(hn::LoadU(d, gathered + j), hn::Set(d, factor)), d, gathered + j);
      }
    }
    maximum[r] = now;
  }
}

template <typename T>
void weights(const ScoreTile<T>& scores, const T* log_sum) {
  for (int64_t r = 0; r < scores.rows; ++r) {
    exp_minus(scores.data + r * scores.leading, close_row(scores, r), log_sum[r]);
  }
}

template <typename T>
void score_gradient(const ScoreTile<T>& weights, T* dweights, const T* delta) {
  const Tag<T> d;
  for (int64_t r = 0; r < weights.rows; ++r) {
    const T* weight = weights.data + r * weights.leading;
    T* row = dweights + r * weights.leading;
    const auto mean = hn::Set(d, delta[r]);
    for (int64_t j = 0; j < weights.keys; j += lanes<T>()) {
      const auto w = hn::LoadU(d, weight + j);
      const auto g = hn::Mul(w, hn::Sub(hn::LoadU(d, row + j), mean));
      hn::StoreU(hn::IfThenZeroElse(hn::Eq(w, hn::Zero(d)), g), d, row + j);
    }
  }
}

template <typename T>
TileKernels<T> kernels() {
  return {lanes<T>(),        most_vectors * lanes<T>(),
          pack<T>,           pack_transposed<T>,
          unpack<T>,         row_products<T>,
          add_rows<T>,       product<T>,
          add_bias<T>,       apply_mask<T>,
          online_softmax<T>, weights<T>,
          score_gradient<T>};
}
TileKernels<float> kernels_f32() { return kernels<float>(); }
TileKernels<double> kernels_f64() { return kernels<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels {

HWY_EXPORT(kernels_f32);
HWY_EXPORT(kernels_f64);

template <>
const TileKernels<float>& tile_kernels() {
  static const TileKernels<float> kernels = HWY_DYNAMIC_DISPATCH(kernels_f32)();
  return kernels;
}
template <>
const TileKernels<double>& tile_kernels() {
  static const TileKernels<double> kernels = HWY_DYNAMIC_DISPATCH(kernels_f64)();
  return kernels;
}

}  // namespace heed::kernels
#endif  // HWY_ONCE
