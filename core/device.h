#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/export.h"

namespace heed {

enum class DeviceKind : uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

HEED_EXPORT std::string device_name(Device device);  // "cpu", "cuda", "cuda:1"
// Throws InputError: "[device] 'gpu' is no device; known are cpu, cuda, cuda:N".
HEED_EXPORT Device parse_device(std::string_view text);

// Where tensors are made unless a call says otherwise: the cpu, until it is set.
HEED_EXPORT Device default_device();
HEED_EXPORT void set_default_device(Device device);

}  // namespace heed
