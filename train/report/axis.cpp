#include "train/report/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace heed::train {
namespace {

// 0.00002 -> 2e-05 -> 2e-5
std::string scientific(double value) {
  std::string text = fmt::format("{:.3g}", value);
  const size_t exponent = text.find('e');
  if (exponent == std::string::npos) {
    return text;
  }
  const bool negative = text[exponent + 1] == '-';
  const size_t digits = std::min(text.find_first_not_of('0', exponent + 2), text.size() - 1);
  return text.substr(0, exponent + 1) + (negative ? "-" : "") + text.substr(digits);
}

// The unit all labels of an axis share.
struct Unit {
  double divisor;
  const char* suffix;
};

Unit unit_of(double largest, double step) {
  for (const Unit unit : {Unit{1e9, "G"}, Unit{1e6, "M"}, Unit{1e3, "k"}}) {
    if (largest >= 10 * unit.divisor && step >= unit.divisor / 2) {
      return unit;
    }
  }
  return {1.0, ""};
}

std::string log_label(double value) {
  if (value < 1e-3 || value >= 1e6) {
    return scientific(value);
  }
  return value >= 1e4 ? fmt::format("{:.6g}k", value / 1e3) : fmt::format("{:.6g}", value);
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, int count) {
  const double rough = (high - low) / std::max(count, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
    }
  }
  const double largest = std::max(std::abs(low), std::abs(high));
  const Unit unit = unit_of(largest, step);
  const double unit_step = step / unit.divisor;
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(unit_step) + 1e-9)));
  const bool plain = decimals <= 4 && largest / unit.divisor < 1e7;
  const double slack = 1e-9 * (high - low);

  std::vector<Tick> ticks;
  const double first = std::ceil((low - slack) / step);
  for (int i = 0; (first + i) * step <= high + slack; ++i) {
    const double value = (first + i) * step;
    if (value == 0) {
      ticks.push_back({0.0, "0"});
    } else if (plain) {
      ticks.push_back(
          {value, fmt::format("{:.{}f}{}", value / unit.divisor, decimals, unit.suffix)});
    } else {
      ticks.push_back({value, scientific(value)});
    }
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, int count) {
  const double decades = std::log10(high / low);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / std::max(count, 1))));
  std::vector<Tick> ticks;
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int exponent = first; exponent <= last; ++exponent) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, exponent);
      const bool wanted = factor == 1.0 ? exponent % stride == 0 : 3 * decades <= count;
      if (wanted && value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) {
        ticks.push_back({value, log_label(value)});
      }
    }
  }
  return ticks.size() >= 2 ? ticks : linear_ticks(low, high, count);
}

Range padded_range(double low, double high, bool log) {
  const double largest = std::max(std::abs(low), std::abs(high));
  if (high - low > std::max(1e-9 * largest, 1e-100)) {
    return {low, high};
  }
  if (log) {
    return {low / 2, high * 2};
  }
  const double margin = largest > 1e-90 ? 0.1 * largest : 1.0;
  return {low - margin, high + margin};
}

}  // namespace heed::train
