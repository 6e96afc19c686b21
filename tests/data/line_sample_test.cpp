#include "data/line_sample.h"

#include <gtest/gtest.h>

#include "core/logging.h"
#include "data/utf8.h"

namespace heed::data {
namespace {

std::string long_line() {
  std::string line = "a";
  while (line.size() < 400000) {
    line += "é";
  }
  return line;
}

TEST(LineSample, KeepsAllOfALongLineInParts) {
  LineSample sample(400001, 400001);
  const std::string line = long_line();
  sample.offer(line);
  std::string joined;
  for (const std::string& part : sample.take("a text")) {
    EXPECT_LE(part.size(), 4099U);
    EXPECT_FALSE(invalid_utf8_position(part)) << "cut between characters";
    joined += part;
  }
  EXPECT_EQ(joined, line);
}

TEST(LineSample, IsNotEmptyOfASingleLine) {
  log::set_level(log::Level::off);
  LineSample sample(400001, 100000);
  sample.offer(long_line());
  size_t bytes = 0;
  for (const std::string& part : sample.take("a text")) {
    bytes += part.size();
  }
  log::set_level(log::Level::info);
  EXPECT_NEAR(static_cast<double>(bytes), 100000, 50000);
}

}  // namespace
}  // namespace heed::data
