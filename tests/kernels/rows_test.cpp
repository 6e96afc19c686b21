#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

Tensor ids_of(const std::vector<int32_t>& ids) {
  return Tensor::from_vector(ids, {static_cast<int64_t>(ids.size())});
}

TEST(GatherRows, CopiesTheRowsNamed) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor table = from_doubles({1, 2, 3, 4, 5, 6}, {3, 2}, dtype);
    const Tensor y = unset({4, 2}, dtype);
    tested().gather_rows(table, ids_of({2, 0, 2, 1}), y);
    expect_same_numbers(y, {5, 6, 1, 2, 5, 6, 3, 4}, 0);
  }
  tested().gather_rows(Tensor::zeros({3, 2}), ids_of({}), unset({0, 2}, DType::f32));
  tested().gather_rows(Tensor::zeros({3, 0}), ids_of({1}), unset({1, 0}, DType::f32));
}

TEST(GatherRows, ReadsAndWritesRowsAtAnyDistance) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor table = from_doubles({1, 2, 0, 3, 4, 0, 5, 6, 0}, {3, 3}, dtype);
    const Tensor y = Tensor::zeros({2, 5}, dtype);
    tested().gather_rows(table.as_strided({3, 2}, {3, 1}, 0), ids_of({2, 0}),
                         y.as_strided({2, 2}, {5, 1}, 1));
    expect_same_numbers(y, {0, 5, 6, 0, 0, 0, 1, 2, 0, 0}, 0);
  }
}

TEST(ScatterAddRows, AddsUpRepeatedRowsAndSkipsOne) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor dy = from_doubles({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}, dtype);
    const Tensor ids = ids_of({2, 0, 2, 1});
    const Tensor all = Tensor::zeros({3, 2}, dtype);
    tested().scatter_add_rows(dy, ids, -1, all);
    expect_same_numbers(all, {3, 4, 7, 8, 6, 8}, 0);
    const Tensor some = Tensor::zeros({3, 2}, dtype);
    tested().scatter_add_rows(dy, ids, 2, some);
    expect_same_numbers(some, {3, 4, 7, 8, 0, 0}, 0);
  }
  tested().scatter_add_rows(Tensor::zeros({0, 2}), ids_of({}), -1, Tensor::zeros({3, 2}));
  tested().scatter_add_rows(Tensor::zeros({1, 0}), ids_of({1}), -1, Tensor::zeros({3, 0}));
}

TEST(Rows, MatchPlainLoopsOnAnyThreads) {
  constexpr int64_t vocabulary = 53;
  constexpr int64_t count = 1009;
  constexpr int64_t width = 131;
  const Tensor table = random_tensor({vocabulary, width}, DType::f32, 1);
  const Tensor dy = random_tensor({count, width}, DType::f32, 2);
  Generator generator(3);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int32_t>(generator.below(vocabulary)));
  }
  const std::vector<double> rows = table.to_doubles();
  std::vector<double> expected;
  std::vector<double> sums(static_cast<size_t>(vocabulary * width), 0);
  const std::vector<double> incoming = dy.to_doubles();
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < width; ++c) {
      const auto at = static_cast<size_t>(ids[static_cast<size_t>(i)] * width + c);
      expected.push_back(rows[at]);
      // One after another in f32, as the contract says.
      sums[at] = static_cast<float>(sums[at] + incoming[static_cast<size_t>(i * width + c)]);
    }
  }
  const auto gather = [&] {
    const Tensor y = unset({count, width}, DType::f32);
    tested().gather_rows(table, ids_of(ids), y);
    return y;
  };
  const auto scatter = [&] {
    const Tensor dtable = Tensor::zeros({vocabulary, width});
    tested().scatter_add_rows(dy, ids_of(ids), -1, dtable);
    return dtable;
  };
  expect_same_numbers(gather(), expected, 0);
  expect_same_numbers(scatter(), sums, 0);
  expect_same_for_any_threads(gather);
  expect_same_for_any_threads(scatter);
}

}  // namespace
}  // namespace heed::kernels::test
