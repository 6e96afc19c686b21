#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "autograd/gradcheck.h"

// GoogleTest's side of gradcheck, for the tests of a layer or function of your own:
//   EXPECT_THAT(gradcheck(f, {x, weight}), PassesGradcheck());
//   expect_gradcheck(f, {x, weight});
// Needs GoogleTest with GoogleMock; nothing else in heed includes this header.
namespace heed {

inline std::ostream& operator<<(std::ostream& out, const GradcheckResult& result) {
  return result.passed() ? out << result.checked << " derivatives agree, " << result.kinks
                               << " left out at kinks"
                         : out << result.message;
}

MATCHER(PassesGradcheck, negation ? "fails gradcheck" : "passes gradcheck") {
  *result_listener << arg;
  return arg.passed();
}

inline void expect_gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                             const GradcheckOptions& options = {}) {
  EXPECT_THAT(gradcheck(f, inputs, options), PassesGradcheck());
}

}  // namespace heed
