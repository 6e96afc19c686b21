#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "autograd/op_cases/op_cases.h"

namespace heed::test {

// The ops of the table, each once, in order.
inline std::vector<std::string> op_names() {
  std::set<std::string> names;
  for (const OpCase& op_case : op_cases()) {
    names.insert(op_case.op);
  }
  return {names.begin(), names.end()};
}

// A suite of one test an op; its body walks the variants.
class OpCaseTest : public testing::TestWithParam<std::string> {
 protected:
  template <typename F>
  static void for_each_variant(F&& f) {
    int variants = 0;
    for (const OpCase& op_case : op_cases()) {
      if (op_case.op == GetParam()) {
        SCOPED_TRACE(op_case.op + ": " + op_case.variant);
        f(op_case);
        ++variants;
      }
    }
    ASSERT_GT(variants, 0);
  }
};

inline std::string op_test_name(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace heed::test
