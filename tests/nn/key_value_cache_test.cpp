#include "nn/key_value_cache.h"

#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

// Keys (2, 3, n, 4) and values (2, 3, n, 5).
KeysValues some(int64_t count, uint64_t stream) {
  return {random_tensor({2, 3, count, 4}, DType::f32, stream),
          random_tensor({2, 3, count, 5}, DType::f32, stream + 100)};
}

TEST(KeyValueCache, HoldsWhatWasAppendedInOrder) {
  KeyValueCache cache;
  std::vector<Tensor> keys;
  std::vector<Tensor> values;
  for (const int64_t count : {3, 1, 40, 1, 100}) {
    const KeysValues further = some(count, static_cast<uint64_t>(count));
    keys.push_back(further.keys);
    values.push_back(further.values);
    const KeysValues all = cache.append(further);
    expect_close(all.keys, concat(keys, 2), 0);
    expect_close(all.values, concat(values, 2), 0);
  }
  EXPECT_EQ(cache.length(), 145);
}

TEST(KeyValueCache, AppendsInPlaceWhileThereIsRoom) {
  KeyValueCache cache;
  const KeysValues first = cache.append(some(3, 1));
  const KeysValues second = cache.append(some(2, 2));
  EXPECT_TRUE(first.keys.shares_storage(second.keys));
  EXPECT_TRUE(first.values.shares_storage(second.values));
}

TEST(KeyValueCache, ReadsStridedHeads) {
  KeyValueCache cache;
  const Tensor x = random_tensor({2, 6, 3, 4}, DType::f32, 1);
  const Tensor heads = transpose(x, 1, 2);
  expect_close(cache.append({heads, heads}).keys, heads, 0);
}

TEST(KeyValueCache, SelectedRowsContinueOnTheirOwn) {
  KeyValueCache cache;
  cache.select({1, 0});  // nothing is held yet
  const KeysValues held = some(3, 1);
  cache.append(held);
  cache.select({1, 1, 0});
  const KeysValues further = {random_tensor({3, 3, 1, 4}, DType::f32, 7),
                              random_tensor({3, 3, 1, 5}, DType::f32, 8)};
  const KeysValues all = cache.append(further);
  EXPECT_EQ(cache.length(), 4);
  expect_close(all.keys, concat({select_rows(held.keys, {1, 1, 0}), further.keys}, 2), 0);
  expect_close(all.values, concat({select_rows(held.values, {1, 1, 0}), further.values}, 2), 0);
}

// Each selection writes over what the one before left; fewer rows, and more room, in between.
TEST(KeyValueCache, SelectsAgainAndAgain) {
  KeyValueCache cache;
  Tensor keys = some(3, 1).keys;
  Tensor values = some(3, 1).values;
  cache.append({keys, values});
  for (const auto& rows :
       std::vector<std::vector<int32_t>>{{1, 0}, {0, 0, 1, 1}, {3, 0, 2, 2}, {2, 1}, {1, 1}, {1}}) {
    cache.select(rows);
    const auto batch = static_cast<int64_t>(rows.size());
    const KeysValues further = {random_tensor({batch, 3, 9, 4}, DType::f32, 7),
                                random_tensor({batch, 3, 9, 5}, DType::f32, 8)};
    const KeysValues all = cache.append(further);
    keys = concat({select_rows(keys, rows), further.keys}, 2);
    values = concat({select_rows(values, rows), further.values}, 2);
    expect_close(all.keys, keys, 0);
    expect_close(all.values, values, 0);
  }
}

TEST(KeyValueCache, RefusesWhatDoesNotFit) {
  KeyValueCache cache;
  cache.append(some(3, 1));
  EXPECT_EQ(error_of([&] {
              cache.append({Tensor::zeros({1, 3, 1, 4}), Tensor::zeros({1, 3, 1, 5})});
            }),
            "[cache] further keys (1, 3, 1, 4) do not fit those of before, (2, 3, 3, 4)");
  EXPECT_EQ(error_of([&] {
              cache.append({Tensor::zeros({2, 1, 4}), Tensor::zeros({2, 1, 5})});
            }),
            "[cache] keys (B, H, n, D) are expected, not (2, 1, 4)");
  const KeysValues learning = some(1, 2);
  set_requires_grad(learning.keys);
  EXPECT_EQ(error_of([&] { cache.append(learning); }),
            "[cache] a cache keeps no graph: decode within a NoGradScope");
  EXPECT_EQ(cache.length(), 3);
  const NoGradScope no_grad;
  cache.append(learning);
  EXPECT_EQ(cache.length(), 4);
}

}  // namespace
}  // namespace heed::nn::test
