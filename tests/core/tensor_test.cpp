#include "core/tensor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/memory.h"
#include "tests/support/error_of.h"

namespace heed {
namespace {

TEST(Tensor, IsUndefinedUntilMade) {
  EXPECT_FALSE(Tensor().defined());
  EXPECT_EQ(Tensor().to_string(), "undefined");
}

TEST(Tensor, HoldsTheValuesOfAVectorOfEachType) {
  const auto f32 = Tensor::from_vector<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(f32.dtype(), DType::f32);
  EXPECT_EQ(f32.shape(), (Shape{2, 3}));
  EXPECT_EQ(f32.strides(), (Shape{3, 1}));
  EXPECT_EQ(f32.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(f32.data<float>()[4], 5.0F);
  EXPECT_EQ(Tensor::from_vector<double>({0.1}, {1}).to_vector<double>(), std::vector<double>{0.1});
  EXPECT_EQ(Tensor::from_vector<int32_t>({-7, 8}, {2}).to_vector<int32_t>(),
            (std::vector<int32_t>{-7, 8}));
  EXPECT_EQ(Tensor::from_vector<bool>({true, false, true}, {3}).to_vector<bool>(),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(Tensor::from_vector<bool>({true, false}, {2}).to_doubles(),
            (std::vector<double>{1, 0}));
}

TEST(Tensor, FillsWithAValue) {
  EXPECT_EQ(Tensor::zeros({2, 2}).to_doubles(), std::vector<double>(4, 0));
  EXPECT_EQ(Tensor::full({3}, 2.5, DType::f64).to_doubles(), std::vector<double>(3, 2.5));
  EXPECT_EQ(Tensor::full({2}, 7, DType::i32).to_vector<int32_t>(), std::vector<int32_t>(2, 7));
  EXPECT_EQ(Tensor::full({2}, 1, DType::boolean).to_vector<bool>(), std::vector<bool>(2, true));
  EXPECT_EQ(Tensor::scalar(3.5).rank(), 0);
  EXPECT_EQ(Tensor::scalar(3.5).item(), 3.5);
}

TEST(Tensor, MayHaveNoElements) {
  const auto empty = Tensor::zeros({2, 0, 3});
  EXPECT_EQ(empty.numel(), 0);
  EXPECT_TRUE(empty.is_contiguous());
  EXPECT_TRUE(empty.to_doubles().empty());
  EXPECT_EQ(empty.to_string(), "f32 (2, 0, 3) [[], []]");
}

TEST(Tensor, ViewsShareStorage) {
  const auto x = Tensor::from_vector<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor transposed = x.as_strided({3, 2}, {1, 3}, 0);
  EXPECT_FALSE(transposed.is_contiguous());
  EXPECT_EQ(transposed.to_doubles(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  const Tensor column = x.as_strided({2}, {3}, 1);
  EXPECT_EQ(column.offset(), 1);
  EXPECT_EQ(column.to_doubles(), (std::vector<double>{2, 5}));
  const Tensor expanded = x.as_strided({2, 2}, {0, 1}, 4);
  EXPECT_EQ(expanded.to_doubles(), (std::vector<double>{5, 6, 5, 6}));

  column.data<float>()[0] = 20;
  EXPECT_EQ(x.to_doubles(), (std::vector<double>{1, 20, 3, 4, 5, 6}));
  EXPECT_TRUE(column.shares_storage(x));
  EXPECT_FALSE(column.same(x));
  EXPECT_FALSE(x.shares_storage(Tensor::zeros({1})));
}

TEST(Tensor, IsContiguousWhateverTheStrideOfASizeOne) {
  const auto x = Tensor::zeros({4, 3});
  EXPECT_TRUE(x.as_strided({1, 3}, {99, 1}, 3).is_contiguous());
  EXPECT_TRUE(x.as_strided({4, 1, 3}, {3, 5, 1}, 0).is_contiguous());
  EXPECT_FALSE(x.as_strided({4, 2}, {3, 1}, 0).is_contiguous());
  EXPECT_FALSE(x.as_strided({4, 3}, {0, 1}, 0).is_contiguous());
}

TEST(Tensor, CountsVersionsOfItsStorage) {
  const auto x = Tensor::zeros({4});
  const Tensor view = x.as_strided({2}, {1}, 2);
  EXPECT_EQ(x.version(), 0);
  view.bump_version();
  EXPECT_EQ(x.version(), 1);
  EXPECT_EQ(x.detach().version(), 1);
}

TEST(Tensor, KnowsWhetherItIsTheOnlyHandle) {
  const auto x = Tensor::zeros({4});
  EXPECT_TRUE(x.exclusive());
  {
    const Tensor handle = x;  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_TRUE(handle.same(x));
    EXPECT_EQ(handle.identity(), x.identity());
    EXPECT_FALSE(x.exclusive());
  }
  EXPECT_TRUE(x.exclusive());
  const Tensor view = x.detach();
  EXPECT_FALSE(x.exclusive());
}

TEST(Tensor, DetachDropsTheAutogradRecord) {
  const auto x = Tensor::zeros({2});
  x.set_autograd(std::make_shared<AutogradRecord>());
  const Tensor handle = x;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_NE(handle.autograd(), nullptr);
  EXPECT_EQ(x.detach().autograd(), nullptr);
}

TEST(Tensor, GivesItsMemoryBack) {
  const int64_t before = device_memory({}).statistics().in_use;
  {
    const auto x = Tensor::zeros({1000});
    const Tensor view = x.as_strided({1}, {1}, 0);
    EXPECT_GE(device_memory({}).statistics().in_use, before + 4000);
  }
  EXPECT_EQ(device_memory({}).statistics().in_use, before);
}

TEST(Tensor, PrintsItsElements) {
  EXPECT_EQ(Tensor::from_vector<float>({1, 2.5, 3, 4}, {2, 2}).to_string(),
            "f32 (2, 2) [[1, 2.5], [3, 4]]");
  EXPECT_EQ(Tensor::scalar(3).to_string(), "f32 () 3");
  EXPECT_EQ(Tensor::from_vector<bool>({true, false}, {2}).to_string(), "bool (2) [true, false]");
  EXPECT_EQ(Tensor::zeros({65}, DType::i32).to_string(), "i32 (65) [...]");
}

TEST(Tensor, WordsMistakes) {
  EXPECT_EQ(test::error_of([] { Tensor::empty({2, -1}); }), "[tensor] a size is negative: (2, -1)");
  EXPECT_EQ(test::error_of([] { Tensor::full({-1}, 1); }), "[tensor] a size is negative: (-1)");
  EXPECT_EQ(test::error_of([] { Tensor::empty({int64_t{1} << 62}); }),
            "[tensor] f32 (4611686018427387904) has more bytes than 64 bits count");
  EXPECT_EQ(test::error_of([] {
              Tensor::from_vector<float>({1, 2}, {3});
            }),
            "[tensor] 2 values do not fill a tensor of shape (3)");
  EXPECT_EQ(test::error_of([] {
              static_cast<void>(Tensor::zeros({2, 1}).item());
            }),
            "[item] one element is expected, the tensor has 2 (2, 1)");
  EXPECT_EQ(test::error_of([] { static_cast<void>(Tensor::zeros({2}).to_vector<double>()); }),
            "[to_vector] the tensor holds f32, f64 was asked for");
  EXPECT_EQ(
      test::error_of([] {
        Tensor::zeros({64}).as_strided({2, 4}, {61, 1}, 0);
      }),
      "[as_strided] shape (2, 4) with strides (61, 1) at 0 leaves the storage of 64 elements");
  EXPECT_EQ(test::error_of([] { Tensor::zeros({64}).as_strided({1}, {1}, 64); }),
            "[as_strided] shape (1) with strides (1) at 64 leaves the storage of 64 elements");
  EXPECT_EQ(test::error_of([] {
              Tensor::zeros({2}, DType::f32, {DeviceKind::cuda, 0});
            }),
            "[device] cuda has no memory here: call kernels::backend(device) first, in a build "
            "configured with -DHEED_CUDA=ON");
}

TEST(Tensor, AssertsTheTypeOfItsData) {
  EXPECT_THROW(static_cast<void>(Tensor::zeros({2}).data<double>()), InternalError);
}

TEST(Tensor, VisitsOffsetsInRowMajorOrder) {
  std::vector<int64_t> offsets;
  for_each_offset({2, 3}, {1, 10}, [&](int64_t offset) { offsets.push_back(offset); });
  EXPECT_EQ(offsets, (std::vector<int64_t>{0, 10, 20, 1, 11, 21}));
  offsets.clear();
  for_each_offset({}, {}, [&](int64_t offset) { offsets.push_back(offset); });
  EXPECT_EQ(offsets, std::vector<int64_t>{0});
  offsets.clear();
  for_each_offset({3, 0}, {1, 1}, [&](int64_t offset) { offsets.push_back(offset); });
  EXPECT_TRUE(offsets.empty());
}

}  // namespace
}  // namespace heed
