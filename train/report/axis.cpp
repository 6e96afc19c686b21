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

// The multiples of every stride-th power of ten, from the last at or below the range to the first
// at or above it; two at least.
std::vector<double> log_values(Range range, const std::vector<double>& multiples, int stride) {
  std::vector<double> values;
  const int first = static_cast<int>(std::floor(std::log10(range.low) / stride)) * stride;
  for (int exponent = first - stride;; exponent += stride) {
    for (const double multiple : multiples) {
      const double value = multiple * std::pow(10.0, exponent);
      if (value <= range.low * (1 + 1e-9)) {
        values.clear();
      }
      values.push_back(value);
      if (value >= range.high * (1 - 1e-9) && values.size() > 1) {
        return values;
      }
    }
  }
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, int count, bool whole) {
  const double rough = (high - low) / std::max(count, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
    }
  }
  if (whole) {
    step = std::max(step, 1.0);
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

Axis linear_axis(Range range, int count) {
  const auto ticks = linear_ticks(range.low, range.high, count);
  if (ticks.size() > 1) {
    const double step = ticks[1].value - ticks[0].value;
    range = {std::floor(range.low / step + 1e-6) * step,
             std::ceil(range.high / step - 1e-6) * step};
  }
  return {range, linear_ticks(range.low, range.high, count)};
}

Axis log_axis(Range range, int count) {
  if (range.high / range.low < 2) {
    return {range, linear_ticks(range.low, range.high, count)};
  }
  const double decades = std::log10(range.high / range.low);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / std::max(count, 1))));
  constexpr int fewest = 4;    // rather close together than a range moved out by decades
  std::vector<double> values;  // from at or below the range to at or above it
  for (const std::vector<double>& multiples :
       {std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 5, 7}, {1, 2, 5}, {1}}) {
    values = log_values(range, multiples, stride);
    if (static_cast<int>(values.size()) <= std::max(count + 1, fewest)) {
      break;
    }
  }
  Axis axis = {{values.front(), values.back()}, {}};
  for (const double value : values) {
    axis.ticks.push_back({value, log_label(value)});
  }
  return axis;
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
