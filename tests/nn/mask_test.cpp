#include "nn/mask.h"

#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

using Flags = std::vector<bool>;

TEST(Mask, AllowsEverythingUnlessToldOtherwise) {
  const Mask mask;
  EXPECT_FALSE(mask.is_causal());
  EXPECT_FALSE(mask.allowed().defined());
  const Tensor x = random_tensor({2, 3, 4}, DType::f32, 1);
  EXPECT_TRUE(mask.clear_padding(x).same(x));
}

TEST(Mask, CausalIsAWordWithoutATensor) {
  EXPECT_TRUE(Mask::causal().is_causal());
  EXPECT_FALSE(Mask::causal().allowed().defined());
}

TEST(Mask, PaddingIsOfKeysAndAbsentWhenEveryRowIsFull) {
  const Mask mask = Mask::padding({1, 3, 0}, 3);
  EXPECT_FALSE(mask.is_causal());
  EXPECT_EQ(mask.allowed().shape(), Shape({3, 1, 1, 3}));
  EXPECT_EQ(mask.allowed().to_vector<bool>(),
            (Flags{true, false, false, true, true, true, false, false, false}));
  EXPECT_FALSE(Mask::padding({3, 3}, 3).allowed().defined());
}

TEST(Mask, ClearsWhatStandsAtPadding) {
  const Tensor x = Tensor::from_vector<double>({1, 2, nan, nan, 5, 6, 7, 8}, {2, 2, 2});
  EXPECT_EQ(Mask::padding({1, 2}, 2).clear_padding(x).to_doubles(),
            (Values{1, 2, 0, 0, 5, 6, 7, 8}));
}

TEST(Mask, PartsAreJoinedByAnd) {
  const Mask rows = Mask::allowing(Tensor::from_vector<bool>({true, false, true, true}, {2, 2}));
  const Mask keys = Mask::padding({2, 1}, 2);
  const Mask joined = rows & keys & Mask::causal();
  EXPECT_TRUE(joined.is_causal());
  EXPECT_EQ(joined.allowed().shape(), Shape({2, 1, 2, 2}));
  EXPECT_EQ(joined.allowed().to_vector<bool>(),
            (Flags{true, false, true, true, true, false, true, false}));
  const Mask other_way = Mask::causal() & keys & rows;
  EXPECT_EQ(other_way.allowed().to_vector<bool>(), joined.allowed().to_vector<bool>());
  // The padding is still known as such.
  EXPECT_EQ(joined.clear_padding(Tensor::full({2, 2, 1}, 3)).to_doubles(), (Values{3, 3, 3, 0}));
  const Mask twice = keys & Mask::padding({1, 2}, 2);
  EXPECT_EQ(twice.clear_padding(Tensor::full({2, 2, 1}, 3)).to_doubles(), (Values{3, 0, 3, 0}));
  EXPECT_EQ((Mask() & keys).allowed().to_vector<bool>(), (Flags{true, true, true, false}));
}

TEST(Mask, RefusesWhatIsNoMask) {
  EXPECT_EQ(error_of([] {
              Mask::allowing(Tensor::zeros({2, 2}));
            }),
            "[mask] a mask is boolean (true = may attend), this one is f32 (2, 2)");
  EXPECT_EQ(error_of([] { Mask::allowing({}); }), "[mask] the tensor is undefined");
  EXPECT_EQ(error_of([] {
              Mask::allowing(Tensor::zeros({2, 4, 4}, DType::boolean));
            }),
            "[mask] (S), (L, S) or four dimensions that broadcast to (B, H, L, S) are expected, "
            "not (2, 4, 4)");
  EXPECT_EQ(error_of([] {
              Mask::padding({2, 4}, 3);
            }),
            "[padding_mask] length 4 is not within 0 .. 3");
  EXPECT_EQ(error_of([] {
              Mask::padding({2, 1}, 3).clear_padding(Tensor::zeros({2, 4, 5}));
            }),
            "[mask] padding of 2 rows of 3 keys does not fit x (2, 4, 5)");
  EXPECT_EQ(error_of([] {
              Mask::padding({2, 1}, 3) & Mask::padding({3, 2, 1}, 3);
            }),
            "[mask] shapes do not broadcast: (2, 1, 1, 3) and (3, 1, 1, 3)");
}

}  // namespace
}  // namespace heed::nn::test
