#include "kernels/backend.h"

#include <gtest/gtest.h>

#include <string>

#include "core/threads.h"
#include "tests/kernels/support.h"

namespace heed::kernels {
namespace {

TEST(Backend, DescribesTheMachineOnOneLine) {
  set_thread_count(3);
  const std::string text = backend(Device{}).description();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_NE(text.find(" by Highway, OpenBLAS "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(", 3 threads")) << text;
  set_thread_count(1);
  EXPECT_TRUE(backend(Device{}).description().ends_with(", 1 thread"));
  set_thread_count(available_cores());
}

TEST(Backend, IsOneObjectADevice) { EXPECT_EQ(&test::tested(), &backend(Tensor::zeros({1}))); }

TEST(Backend, FusesUnlessToldOtherwise) {
  EXPECT_TRUE(fused_kernels());
  set_fused_kernels(false);
  EXPECT_FALSE(fused_kernels());
  set_fused_kernels(true);
}

}  // namespace
}  // namespace heed::kernels
