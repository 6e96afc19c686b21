#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/memory.h"
#include "tests/kernels/support.h"
#include "tests/support/error_of.h"

// What the CUDA backend says of itself, its memory, and how exact it is.
namespace heed::kernels {
namespace {

constexpr Device cuda{DeviceKind::cuda};

// In a build with CUDA on a machine without a card there is nothing to test.
class CudaBackend : public testing::Test {
 protected:
  void SetUp() override {
    if (default_device().kind == DeviceKind::cpu) {
      GTEST_SKIP() << "there is no card";
    }
  }
};

TEST_F(CudaBackend, DescribesTheCardOnOneLine) {
  const std::string text = backend(cuda).description();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  if (!text.starts_with("emulated")) {
    GTEST_SKIP() << text;
  }
  EXPECT_EQ(text,
            "emulated device, capability 9.0, 8192 MiB, CUDA 13.0 (driver 13.0), built for 9.0");
}

TEST_F(CudaBackend, UsesOneCard) {
  EXPECT_EQ(heed::test::error_of<InputError>([] {
              backend({DeviceKind::cuda, 1});
            }),
            "[device] cuda:1 was asked for, but this process uses cuda: it can use one card");
}

TEST_F(CudaBackend, CountsMemory) {
  DeviceMemory& memory = device_memory(cuda);
  const int64_t before = memory.statistics().in_use;
  memory.reset_peak();
  {
    const Tensor x = Tensor::zeros({1000}, DType::f32, cuda);
    EXPECT_EQ(memory.statistics().in_use, before + 4000);
  }
  EXPECT_EQ(memory.statistics().in_use, before);
  EXPECT_EQ(memory.statistics().peak_in_use, before + 4000);
}

// Small ones that share a part of the ring of pinned memory, one that goes round it, and more than
// it holds on end.
TEST_F(CudaBackend, UploadsArriveAsTheyWere) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 9; ++i) {
    tensors.push_back(Tensor::full({5}, i, DType::f32, cuda));
  }
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(tensors[static_cast<size_t>(i)].to_doubles(), std::vector<double>(5, i));
  }
  std::vector<float> many(1'500'000);
  std::iota(many.begin(), many.end(), 0.0F);
  const Shape shape = {static_cast<int64_t>(many.size())};
  EXPECT_EQ(Tensor::from_vector(many, shape, cuda).to_vector<float>(), many);
  tensors.clear();
  for (int i = 0; i < 60; ++i) {
    tensors.push_back(Tensor::full({30'001}, i, DType::f32, cuda));
  }
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(tensors[static_cast<size_t>(i)].to_doubles(), std::vector<double>(30'001, i));
  }
}

// What the device is given between asking and looking is too late for it.
TEST_F(CudaBackend, IsReadBackAsItWas) {
  DeviceMemory& memory = device_memory(cuda);
  const int64_t waits = memory.statistics().host_waits;
  const Tensor x = Tensor::full({4}, 3, DType::f64, cuda);
  const std::unique_ptr<Readback> readback = memory.make_readback(5 * sizeof(double));
  for (const double next : {5, 7}) {
    const double now = next - 2;
    readback->begin(x.raw_data(), 4 * sizeof(double));
    backend(cuda).fill(x, next);
    const auto* values = static_cast<const double*>(readback->wait());
    EXPECT_EQ(std::vector<double>(values, values + 4), std::vector<double>(4, now));
  }
  EXPECT_EQ(memory.statistics().host_waits, waits);
  EXPECT_EQ(x.to_doubles().front(), 7);
  EXPECT_EQ(memory.statistics().host_waits, waits + 1);
}

TEST_F(CudaBackend, SaysWhenThereIsNoMoreMemory) {
  const int64_t in_use = device_memory(cuda).statistics().in_use;
  EXPECT_EQ(heed::test::error_of([] { Tensor::zeros({int64_t{1} << 40}, DType::f32, cuda); }),
            fmt::format("[memory] the card has no more memory: 4398046511104 bytes asked for, {} "
                        "in use; a smaller batch or model needs less",
                        in_use));
}

TEST_F(CudaBackend, DropsTheSameNumbersAsTheCpu) {
  const RandomState random{3, 4, 1234567};
  const Tensor here = Tensor::full({1001}, 1, DType::f32, Device{});
  const Tensor there = Tensor::full({1001}, 1, DType::f32, cuda);
  backend(Device{}).dropout(here, 0.3, random, here);
  backend(cuda).dropout(there, 0.3, random, there);
  EXPECT_EQ(here.to_doubles(), there.to_doubles());
}

// --- accuracy: against f64 on the CPU, beside what plain f32 on the CPU errs --------------------

struct Attended {
  std::vector<double> y, dquery, dkey, dvalue, dbias;
};

// What attention may have beside queries, keys and values.
struct Extras {
  bool mask = false, bias = false;
  double dropout = 0;
};

// Attention of the numbers of a stream, causal, on a device and in a dtype.
Attended attend(Device device, DType dtype, int64_t queries, int64_t keys, int64_t width,
                int64_t heads = 2, const Extras& extras = {}) {
  const auto on_device = [&](const Shape& shape, uint64_t stream) {
    const Tensor x = Tensor::from_vector(
        test::random_tensor(shape, DType::f32, stream).to_vector<float>(), shape, device);
    const Tensor converted = Tensor::empty(shape, dtype, device);
    backend(device).copy(x, converted);
    return converted;
  };
  const auto random = [&](int64_t length, uint64_t stream) {
    return on_device({1, heads, length, width}, stream);
  };
  const auto out = [&](const Shape& shape) { return Tensor::zeros(shape, dtype, device); };
  const Tensor query = random(queries, 1), key = random(keys, 2), value = random(keys, 3),
               dy = random(queries, 4);
  const Shape pairs = {1, heads, queries, keys};
  Tensor mask, bias, dbias;
  if (extras.mask) {  // three in four
    mask = Tensor::empty(pairs, DType::boolean, device);
    backend(device).compare(CompareOp::less, on_device(pairs, 5),
                            Tensor::full(pairs, 1, dtype, device), mask);
  }
  if (extras.bias) {
    bias = on_device(pairs, 6);
    dbias = out(pairs);
  }
  const AttentionRule rule{
      1 / std::sqrt(static_cast<double>(width)), true, extras.dropout, {3, 4, 5}};
  const Tensor y = out(query.shape()), log_sum = out({1, heads, queries});
  const Tensor dquery = out(query.shape()), dkey = out(key.shape()), dvalue = out(value.shape());
  backend(device).attention(query, key, value, mask, bias, rule, y, log_sum);
  backend(device).attention_backward(query, key, value, mask, bias, rule, y, log_sum, dy, dquery,
                                     dkey, dvalue, dbias);
  return {y.to_doubles(), dquery.to_doubles(), dkey.to_doubles(), dvalue.to_doubles(),
          extras.bias ? dbias.to_doubles() : std::vector<double>()};
}

// Values within twice, gradients within three times the error of the CPU.
TEST_F(CudaBackend, AttentionIsAboutAsExactAsOnTheCpu) {
  for (const Extras& extras : {Extras{}, {true}, {true, true, 0.3}}) {
    for (const auto& [queries, keys, width] : {std::array<int64_t, 3>{77, 77, 16},
                                               {130, 130, 64},
                                               {65, 129, 128},
                                               {33, 200, 40},
                                               {31, 67, 17},
                                               {101, 35, 5}}) {
      SCOPED_TRACE(fmt::format("{} queries, {} keys of width {}, mask {}, bias {}, dropout {}",
                               queries, keys, width, extras.mask, extras.bias, extras.dropout));
      const Attended exact = attend({}, DType::f64, queries, keys, width, 2, extras);
      const Attended cpu = attend({}, DType::f32, queries, keys, width, 2, extras);
      const Attended card = attend(cuda, DType::f32, queries, keys, width, 2, extras);
      EXPECT_LE(test::largest_error(card.y, exact.y), 2 * test::largest_error(cpu.y, exact.y));
      EXPECT_LE(test::largest_error(card.dquery, exact.dquery),
                3 * test::largest_error(cpu.dquery, exact.dquery));
      EXPECT_LE(test::largest_error(card.dkey, exact.dkey),
                3 * test::largest_error(cpu.dkey, exact.dkey));
      EXPECT_LE(test::largest_error(card.dvalue, exact.dvalue),
                3 * test::largest_error(cpu.dvalue, exact.dvalue));
      EXPECT_LE(test::largest_error(card.dbias, exact.dbias),
                3 * test::largest_error(cpu.dbias, exact.dbias));
    }
  }
}

// Query, key, value and dy, y and the gradients, the log-sums and one number more a row: nothing of
// the lengths' product. On the emulated device a square of 16384 would take minutes, so that the
// longest come one at a time; there too a product of lengths would be the larger part.
TEST_F(CudaBackend, MemoryOfAttentionGrowsWithTheLengths) {
  std::vector<std::pair<int64_t, int64_t>> lengths = {
      {1024, 1024}, {4096, 1024}, {16384, 64}, {64, 16384}};
  if (!backend(cuda).description().starts_with("emulated")) {
    lengths.insert(lengths.end(), {{4096, 4096}, {16384, 16384}});
  }
  DeviceMemory& memory = device_memory(cuda);
  constexpr int64_t width = 16;
  for (const auto& [queries, keys] : lengths) {
    const int64_t before = memory.statistics().in_use;
    memory.reset_peak();
    attend(cuda, DType::f32, queries, keys, width, 1);
    EXPECT_EQ(memory.statistics().peak_in_use - before,
              4 * (4 * width * (queries + keys) + 2 * queries))
        << queries << " queries, " << keys << " keys";
  }
}

}  // namespace
}  // namespace heed::kernels
