#include "core/device.h"

#include <atomic>
#include <charconv>

#include "core/error.h"

namespace heed {
namespace {

std::atomic<Device> default_now{Device{}};

}  // namespace

Device default_device() { return default_now.load(std::memory_order_relaxed); }
void set_default_device(Device device) { default_now.store(device, std::memory_order_relaxed); }

std::string device_name(Device device) {
  if (device.kind == DeviceKind::cpu) {
    return "cpu";
  }
  return device.index == 0 ? "cuda" : fmt::format("cuda:{}", device.index);
}

Device parse_device(std::string_view text) {
  if (text == "cpu") {
    return {};
  }
  constexpr std::string_view cuda = "cuda";
  if (text == cuda) {
    return {DeviceKind::cuda, 0};
  }
  if (text.starts_with("cuda:")) {
    const std::string_view digits = text.substr(cuda.size() + 1);
    int index = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (failure == std::errc() && end == digits.data() + digits.size() && index >= 0) {
      return {DeviceKind::cuda, index};
    }
  }
  throw InputError("device", fmt::format("'{}' is no device; known are cpu, cuda, cuda:N", text));
}

}  // namespace heed
