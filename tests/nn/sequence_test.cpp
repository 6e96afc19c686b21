#include "nn/sequence.h"

#include <utility>
#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

TEST(PaddingMask, IsTrueUpToEachLength) {
  const Tensor mask = padding_mask({2, 0, 3}, 3);
  EXPECT_EQ(mask.shape(), Shape({3, 3}));
  EXPECT_EQ(mask.to_vector<bool>(),
            (std::vector<bool>{true, true, false, false, false, false, true, true, true}));
}

TEST(PaddingMask, IsUndefinedWhenEveryRowIsFull) {
  EXPECT_FALSE(padding_mask({3, 3}, 3).defined());
  EXPECT_TRUE(padding_mask({3, 3}, 4).defined());
}

TEST(PaddingMask, RefusesLengthsOutsideTheWidth) {
  EXPECT_EQ(error_of([] {
              padding_mask({1, 4}, 3);
            }),
            "[padding_mask] length 4 is not within 0 .. 3");
  EXPECT_EQ(error_of([] { padding_mask({-1}, 3); }),
            "[padding_mask] length -1 is not within 0 .. 3");
}

TEST(SelectRows, KeepsTheseRowsInThisOrder) {
  const Tensor x = random_tensor({3, 2, 4}, DType::f64, 1);
  const Tensor found = select_rows(transpose(x, 1, 2), {2, 0, 0, 1});
  EXPECT_EQ(found.shape(), Shape({4, 4, 2}));
  for (const auto& [row, from] : {std::pair{0, 2}, {1, 0}, {2, 0}, {3, 1}}) {
    expect_close(slice(found, 0, row, row + 1), transpose(slice(x, 0, from, from + 1), 1, 2), 0);
  }
  EXPECT_EQ(select_rows(Tensor::zeros({2, 0}), {1}).shape(), Shape({1, 0}));
  EXPECT_FALSE(select_rows({}, {1}).defined());
}

TEST(PaddedIds, KnowsItsBatchAndWidth) {
  const PaddedIds ids = {Tensor::from_vector<int32_t>({1, 2, 3, 4, 0, 0}, {2, 3}), {3, 1}};
  EXPECT_EQ(ids.batch(), 2);
  EXPECT_EQ(ids.width(), 3);
}

}  // namespace
}  // namespace heed::nn::test
