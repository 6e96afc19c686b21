#include "core/shape.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/error_of.h"

namespace heed {
namespace {

TEST(Shape, HoldsSizesInPlace) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.numel(), 30);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(shape.dim(-1), 5);
  EXPECT_EQ(shape.dim(-3), 2);
  EXPECT_EQ(shape.to_string(), "(2, 3, 5)");
  EXPECT_EQ(shape, Shape(std::vector<int64_t>{2, 3, 5}));
  EXPECT_NE(shape, (Shape{2, 3}));
  EXPECT_NE(shape, (Shape{2, 3, 4}));
  EXPECT_EQ(Shape::filled(2, 7), (Shape{7, 7}));
}

TEST(Shape, RankZeroIsOneElement) {
  EXPECT_TRUE(Shape{}.empty());
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ(Shape{}.strides(), Shape{});
  EXPECT_EQ(Shape{}.to_string(), "()");
}

TEST(Shape, StridesAreRowMajor) {
  EXPECT_EQ((Shape{2, 3, 5}).strides(), (Shape{15, 5, 1}));
  EXPECT_EQ((Shape{2, 0, 5}).strides(), (Shape{5, 5, 1}));
  EXPECT_EQ((Shape{2, 0, 5}).numel(), 0);
}

TEST(Shape, InsertsAndErases) {
  Shape shape{2, 5};
  shape.insert(1, 3);
  EXPECT_EQ(shape, (Shape{2, 3, 5}));
  shape.push_back(7);
  EXPECT_EQ(shape, (Shape{2, 3, 5, 7}));
  shape.erase(0);
  EXPECT_EQ(shape, (Shape{3, 5, 7}));
  shape.erase(2);
  EXPECT_EQ(shape, (Shape{3, 5}));
}

TEST(Shape, HoldsEightDimensionsAtMost) {
  Shape shape = Shape::filled(Shape::max_rank, 1);
  EXPECT_EQ(test::error_of([&] { shape.push_back(1); }), "[shape] more than 8 dimensions");
}

TEST(Shape, CountsInSixtyFourBits) {
  const int64_t large = int64_t{1} << 32;
  EXPECT_EQ(test::error_of([&] {
              static_cast<void>(Shape{large, large}.numel());
            }),
            "[shape] (4294967296, 4294967296) has more elements than 64 bits count");
  EXPECT_EQ((Shape{large, large / 4}).numel(), int64_t{1} << 62);
}

TEST(Shape, NormalizesDimensions) {
  EXPECT_EQ(normalize_dim("sum", 1, 3), 1);
  EXPECT_EQ(normalize_dim("sum", -1, 3), 2);
  EXPECT_EQ(normalize_dim("sum", -3, 3), 0);
  EXPECT_EQ(test::error_of([] { normalize_dim("sum", 3, 3); }),
            "[sum] dimension 3 is out of range for 3 dimensions");
  EXPECT_EQ(test::error_of([] { normalize_dim("sum", -4, 3); }),
            "[sum] dimension -4 is out of range for 3 dimensions");
}

TEST(Shape, BroadcastsFromTheRight) {
  EXPECT_EQ(broadcast_shapes("add", {2, 1, 5}, {3, 1}), (Shape{2, 3, 5}));
  EXPECT_EQ(broadcast_shapes("add", {}, {4}), (Shape{4}));
  EXPECT_EQ(broadcast_shapes("add", {1}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast_shapes("add", {0, 3}, {1, 1}), (Shape{0, 3}));
  EXPECT_EQ(test::error_of([] {
              broadcast_shapes("add", {2, 3}, {2, 4});
            }),
            "[add] shapes do not broadcast: (2, 3) and (2, 4)");
  EXPECT_EQ(test::error_of([] { broadcast_shapes("add", {0}, {2}); }),
            "[add] shapes do not broadcast: (0) and (2)");
}

}  // namespace
}  // namespace heed
