#pragma once

#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/precision.h"
#include "tests/kernels/support.h"

namespace heed::kernels::test {

// Products are in bf16 while such a test runs; skipped where the tested device has none.
class OnTensorCores : public testing::Test {
 protected:
  void SetUp() override {
    try {
      set_precision(default_device(), Precision::bf16);
    } catch (const InputError& lacking) {
      GTEST_SKIP() << lacking.what();
    }
  }
  void TearDown() override { set_precision(default_device(), Precision::float32); }
};

}  // namespace heed::kernels::test
