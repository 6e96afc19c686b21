#include "core/interrupt.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(Interrupt, ARequestIsAnsweredOnce) {
  EXPECT_NO_THROW(check_stop());
  request_stop();
  EXPECT_THROW(check_stop(), Stopped);
  EXPECT_NO_THROW(check_stop());
  request_stop();
  forget_stop_request();
  EXPECT_NO_THROW(check_stop());
}

}  // namespace
}  // namespace heed
