#include "kernels/cuda/emulator/emulator.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

// The emulated device itself: kernels without a mistake give the same in every order, and each kind
// of mistake is seen.
namespace heed::emulator {
namespace {

template <typename... P, typename... A>
cudaError_t run(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_bytes, A... arguments) {
  const cudaLaunchConfig_t config{grid, block, shared_bytes, nullptr, nullptr, 0};
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// Floats on the device.
class Floats {
 public:
  explicit Floats(size_t count) : count_(count) { cudaMalloc(&memory_, count * sizeof(float)); }
  explicit Floats(const std::vector<float>& values) : Floats(values.size()) {
    EXPECT_EQ(cudaMemcpy(memory_, values.data(), count_ * sizeof(float), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  ~Floats() { EXPECT_EQ(cudaFree(memory_), cudaSuccess); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  float* data() const { return static_cast<float*>(memory_); }
  std::vector<float> values() const {
    std::vector<float> result(count_);
    EXPECT_EQ(cudaMemcpy(result.data(), memory_, count_ * sizeof(float), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return result;
  }

 private:
  void* memory_ = nullptr;
  size_t count_;
};

std::vector<float> counted(size_t count) {
  std::vector<float> result(count);
  std::iota(result.begin(), result.end(), 1.0F);
  return result;
}

// What `compute` gives in each of the orders.
template <typename F>
std::vector<std::vector<float>> in_every_order(F compute) {
  std::vector<std::vector<float>> results;
  for (const Order one : {Order::forward, Order::reverse, Order::shuffled}) {
    set_order(one);
    results.push_back(compute());
  }
  set_order(Order::forward);
  return results;
}

constexpr unsigned block = 64;

// Every block of 64 turned round by way of shared memory.
template <bool with_barrier>
__global__ void turn_round(const float* x, float* y) {
  __shared__ float tile[block];
  const unsigned first = blockIdx.x * block;
  tile[threadIdx.x] = x[first + threadIdx.x];
  if (with_barrier) {
    __syncthreads();
  }
  y[first + threadIdx.x] = tile[block - 1 - threadIdx.x];
  __syncthreads();
}

template <bool with_barrier>
std::vector<float> turned_round() {
  const Floats x(counted(2 * block));
  const Floats y(2 * block);
  EXPECT_EQ(run(turn_round<with_barrier>, 2, block, 0, x.data(), y.data()), cudaSuccess);
  return y.values();
}

TEST(Emulator, BarriersMakeOrdersAgree) {
  for (const std::vector<float>& result : in_every_order(turned_round<true>)) {
    for (size_t i = 0; i < block; ++i) {
      EXPECT_EQ(result[i], static_cast<float>(block - i));
      EXPECT_EQ(result[block + i], static_cast<float>(2 * block - i));
    }
  }
}

TEST(Emulator, AMissingBarrierShowsBetweenOrders) {
  const auto results = in_every_order(turned_round<false>);
  EXPECT_NE(results[0], results[1]);
  EXPECT_NE(results[0], results[2]);
}

// The lanes of each warp meet before and after they write; the warps do not.
__global__ void turn_round_between_warps(const float* x, float* y) {
  auto* tile = static_cast<float*>(dynamic_shared());
  tile[threadIdx.x] = __shfl_xor_sync(0xffffffff, x[threadIdx.x], 0);
  __shfl_xor_sync(0xffffffff, 0.0F, 0);
  y[threadIdx.x] = tile[block - 1 - threadIdx.x];
  __syncthreads();
}

TEST(Emulator, AMissingBarrierShowsBehindShuffles) {
  const auto results = in_every_order([] {
    const Floats x(counted(block));
    const Floats y(block);
    EXPECT_EQ(run(turn_round_between_warps, 1, block, block * sizeof(float), x.data(), y.data()),
              cudaSuccess);
    return y.values();
  });
  // What the first warp to go on reads, nobody has written.
  EXPECT_TRUE(std::isnan(results[0].front()));
  EXPECT_EQ(results[0].back(), 1);
  EXPECT_TRUE(std::isnan(results[1].back()));
  EXPECT_EQ(results[1].front(), static_cast<float>(block));
}

__global__ void add_one(float* x, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    x[i] += 1;
  }
}

// Division that rounds down leaves the last elements to nobody.
TEST(Emulator, AnUnlaunchedTailShows) {
  constexpr unsigned count = 150;
  const Floats whole(counted(count));
  const Floats cut(counted(count));
  EXPECT_EQ(run(add_one, (count + block - 1) / block, block, 0, whole.data(), count), cudaSuccess);
  EXPECT_EQ(run(add_one, count / block, block, 0, cut.data(), count), cudaSuccess);
  EXPECT_EQ(whole.values().back(), 151);
  EXPECT_EQ(cut.values().back(), 150);
}

__global__ void fill(float* y, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    y[i] = 0;
  }
}

TEST(Emulator, MemoryThatNobodyWroteIsNaN) {
  const Floats y(150);
  EXPECT_EQ(run(fill, 150 / block, block, 0, y.data(), 150U), cudaSuccess);
  EXPECT_TRUE(std::isnan(y.values().back()));
}

TEST(EmulatorDeathTest, AWriteOutOfBoundsEndsTheProgram) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const Floats y(150);
  EXPECT_DEATH(run(fill, 1, 151, 0, y.data(), 151U),
               "a kernel wrote past the end of an allocation of 600 bytes|AddressSanitizer");
}

__global__ void copy_to(const float* x, float* y, unsigned offset) {
  y[threadIdx.x] = x[threadIdx.x + offset];
}

TEST(EmulatorDeathTest, AReadOutOfBoundsGivesNaN) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const Floats x(counted(8));
  const Floats y(8);
#ifdef __SANITIZE_ADDRESS__
  EXPECT_DEATH(run(copy_to, 1, 8, 0, x.data(), y.data(), 1U), "AddressSanitizer");
#else
  EXPECT_EQ(run(copy_to, 1, 8, 0, x.data(), y.data(), 1U), cudaSuccess);
  EXPECT_TRUE(std::isnan(y.values().back()));
#endif
}

TEST(EmulatorDeathTest, AReadOfFreedMemoryGivesNaN) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (const unsigned count : {8U, 1U << 18}) {
    const Floats y(8);
    const float* freed = Floats(counted(count)).data();
#ifdef __SANITIZE_ADDRESS__
    EXPECT_DEATH(run(copy_to, 1, 8, 0, freed, y.data(), count / 2 - 4), "AddressSanitizer");
#else
    EXPECT_EQ(run(copy_to, 1, 8, 0, freed, y.data(), count / 2 - 4), cudaSuccess);
    EXPECT_THAT(y.values(), testing::Each(testing::IsNan())) << count;
#endif
  }
}

TEST(EmulatorDeathTest, AHostReadOfDeviceMemoryEndsTheProgram) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const Floats x(counted(8));
  const volatile float* stray = x.data();
  EXPECT_DEATH(static_cast<void>(*stray), "");
  EXPECT_EQ(x.values().front(), 1);
}

__global__ void leave_before_the_barrier(float* x) {
  if (threadIdx.x == 3) {
    return;
  }
  __syncthreads();
  x[threadIdx.x] = 0;
}

TEST(EmulatorDeathTest, ABarrierThatSomeNeverReachEndsTheProgram) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const Floats x(32);
  EXPECT_DEATH(run(leave_before_the_barrier, 1, 32, 0, x.data()),
               "others of their block left the kernel without reaching");
}

__global__ void warp_sums(const float* x, float* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  }
  sums[i] = sum;
}

TEST(Emulator, ShufflesSpanAWarp) {
  for (const std::vector<float>& result : in_every_order([&] {
         const Floats x(counted(64));
         const Floats sums(64);
         EXPECT_EQ(run(warp_sums, 1, 64, 0, x.data(), sums.data()), cudaSuccess);
         return sums.values();
       })) {
    EXPECT_EQ(result[0], 528);
    EXPECT_EQ(result[31], 528);
    EXPECT_EQ(result[32], 1552);
  }
}

// The lanes' parts as the PTX ISA gives them for mma.m16n8k16: y (16, 8) += a (16, 16) b (16, 8).
__global__ void tensor_core_product(const float* a, const float* b, float* y) {
  const unsigned group = threadIdx.x >> 2, place = threadIdx.x % 4;
  __nv_bfloat16 a_part[8], b_part[4];
  float c[4];
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned row = i < 2 || (4 <= i && i < 6) ? group : group + 8;
    const unsigned column = i < 4 ? place * 2 + (i & 1) : place * 2 + (i & 1) + 8;
    a_part[i] = __float2bfloat16_rn(a[row * 16 + column]);
  }
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = i < 2 ? place * 2 + (i & 1) : place * 2 + (i & 1) + 8;
    b_part[i] = __float2bfloat16_rn(b[row * 8 + group]);
    c[i] = y[(i < 2 ? group : group + 8) * 8 + place * 2 + (i & 1)];
  }
  uint32_t a_words[4], b_words[2];
  std::memcpy(a_words, a_part, sizeof(a_words));
  std::memcpy(b_words, b_part, sizeof(b_words));
  mma(c, a_words, b_words);
  for (unsigned i = 0; i < 4; ++i) {
    y[(i < 2 ? group : group + 8) * 8 + place * 2 + (i & 1)] = c[i];
  }
}

TEST(Emulator, TensorCoresMultiply) {
  // Whole numbers that bf16 holds, no two rows or columns alike.
  std::vector<float> a(256), b(128), expected = counted(128);
  for (size_t i = 0; i < 256; ++i) {
    a[i] = static_cast<float>(i * 37 % 251) - 125;
    b[i / 2] = static_cast<float>(i / 2 * 29 % 113) - 56;
  }
  for (size_t i = 0; i < 128; ++i) {
    for (size_t k = 0; k < 16; ++k) {
      expected[i] += a[i / 8 * 16 + k] * b[k * 8 + i % 8];
    }
  }
  for (const std::vector<float>& result : in_every_order([&] {
         const Floats x(a), w(b), y(counted(128));
         EXPECT_EQ(run(tensor_core_product, 1, 32, 0, x.data(), w.data(), y.data()), cudaSuccess);
         return y.values();
       })) {
    EXPECT_EQ(result, expected);
  }
}

TEST(Emulator, RoundsToBf16AsACardDoes) {
  const auto rounded = [](float x) { return __bfloat162float(__float2bfloat16_rn(x)); };
  EXPECT_EQ(rounded(1 + 1.0F / 256), 1);               // the middle: to even
  EXPECT_EQ(rounded(1 + 3.0F / 256), 1 + 4.0F / 256);  // the middle: to even
  EXPECT_EQ(rounded(1 + 1.01F / 256), 1 + 2.0F / 256);
  EXPECT_EQ(rounded(-3.4e38F), -INFINITY);
  EXPECT_TRUE(std::isnan(rounded(NAN)));
}

__global__ void any_negative(const float* x, float* answer) {
  const int any = __syncthreads_or(x[threadIdx.x] < 0);
  answer[threadIdx.x] = any != 0 ? 1.0F : 0.0F;
}

TEST(Emulator, ABarrierCanCarryAVote) {
  std::vector<float> values = counted(64);
  const Floats all_positive(values);
  values[50] = -1;
  const Floats one_negative(values);
  const Floats answer(64);
  EXPECT_EQ(run(any_negative, 1, 64, 0, all_positive.data(), answer.data()), cudaSuccess);
  EXPECT_EQ(answer.values(), std::vector<float>(64, 0.0F));
  EXPECT_EQ(run(any_negative, 1, 64, 0, one_negative.data(), answer.data()), cudaSuccess);
  EXPECT_EQ(answer.values(), std::vector<float>(64, 1.0F));
}

__global__ void read_unwritten_shared(float* y) {
  y[threadIdx.x] = static_cast<float*>(dynamic_shared())[threadIdx.x];
}

TEST(Emulator, SharedMemoryBeginsAsNaN) {
  const Floats y(32);
  EXPECT_EQ(run(read_unwritten_shared, 1, 32, 128, y.data()), cudaSuccess);
  EXPECT_TRUE(std::isnan(y.values().front()));
}

#ifdef __SANITIZE_ADDRESS__
__global__ void read_shared(float* y, unsigned offset) {
  __shared__ float tile[32];
  tile[threadIdx.x] = 0;
  y[threadIdx.x] = tile[threadIdx.x + offset];
}

// Dynamic shared memory by AddressSanitizer, a static array by UndefinedBehaviorSanitizer.
TEST(EmulatorDeathTest, AnIndexOutOfSharedMemoryEndsTheProgram) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const Floats y(33);
  EXPECT_EQ(run(read_unwritten_shared, 1, 32, 128, y.data()), cudaSuccess);
  EXPECT_DEATH(run(read_unwritten_shared, 1, 33, 128, y.data()), "AddressSanitizer");
  EXPECT_EQ(run(read_shared, 1, 32, 0, y.data(), 0U), cudaSuccess);
  EXPECT_DEATH(run(read_shared, 1, 32, 0, y.data(), 1U), "index 32 out of bounds");
}
#endif

TEST(Emulator, RefusesWhatACardRefuses) {
  const Floats y(32);
  EXPECT_EQ(run(fill, 1, 1025, 0, y.data(), 32U), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(fill, 0, 32, 0, y.data(), 32U), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(fill, 1, 32, 49 << 10, y.data(), 32U), cudaErrorInvalidConfiguration);
  cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
  EXPECT_EQ(run(fill, 1, 32, 49 << 10, y.data(), 32U), cudaSuccess);
  float host = 0;
  EXPECT_EQ(cudaMemcpy(y.data(), &host, 33 * sizeof(float), cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(&host), cudaErrorInvalidValue);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, size_t{1} << 40), cudaErrorMemoryAllocation);
}

// A copy from pinned memory is made as late as it may be: what the host writes there meanwhile
// shows.
TEST(Emulator, PinnedMemoryThatIsUsedAgainTooEarlyShows) {
  for (const bool waits : {true, false}) {
    void* pinned = nullptr;
    ASSERT_EQ(cudaHostAlloc(&pinned, 8 * sizeof(float), cudaHostAllocDefault), cudaSuccess);
    auto* const values = static_cast<float*>(pinned);
    cudaEvent_t copied = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming), cudaSuccess);
    const Floats x(8);
    std::fill_n(values, 8, 1.0F);
    EXPECT_EQ(cudaMemcpyAsync(x.data(), pinned, 8 * sizeof(float), cudaMemcpyHostToDevice, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaEventRecord(copied, nullptr), cudaSuccess);
    if (waits) {
      EXPECT_EQ(cudaEventSynchronize(copied), cudaSuccess);
    }
    std::fill_n(values, 8, 2.0F);
    EXPECT_EQ(x.values(), std::vector<float>(8, waits ? 1.0F : 2.0F));
    EXPECT_EQ(cudaEventDestroy(copied), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  }
}

// So is one to pinned memory: looking at it before it was waited for shows what was there.
TEST(Emulator, PinnedMemoryThatIsLookedAtTooEarlyShows) {
  for (const bool waits : {true, false}) {
    void* pinned = nullptr;
    ASSERT_EQ(cudaHostAlloc(&pinned, sizeof(float), cudaHostAllocDefault), cudaSuccess);
    auto* const value = static_cast<float*>(pinned);
    cudaEvent_t copied = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming), cudaSuccess);
    const Floats x(1);
    *value = 1;
    EXPECT_EQ(cudaMemcpyAsync(x.data(), pinned, sizeof(float), cudaMemcpyHostToDevice, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    *value = 2;
    EXPECT_EQ(cudaMemcpyAsync(pinned, x.data(), sizeof(float), cudaMemcpyDeviceToHost, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaEventRecord(copied, nullptr), cudaSuccess);
    if (waits) {
      EXPECT_EQ(cudaEventSynchronize(copied), cudaSuccess);
    }
    EXPECT_EQ(*value, waits ? 1 : 2);
    EXPECT_EQ(cudaEventDestroy(copied), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  }
}

}  // namespace
}  // namespace heed::emulator
