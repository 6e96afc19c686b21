#include "train/wording.h"

#include <fmt/core.h>

namespace heed::train {

std::string counted(int64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

std::string fixed(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  const bool negative_zero = text.find_first_not_of("-0.") == std::string::npos;
  return negative_zero && text.front() == '-' ? text.substr(1) : text;
}

}  // namespace heed::train
