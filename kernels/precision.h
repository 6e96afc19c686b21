#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/export.h"

namespace heed::kernels {

// What a device makes matrix products of f32 from: the numbers as they are, or rounded to TF32 (11
// significant bits) or bf16 (8; for attention too). Sums and results are f32 in any case, and f64
// is never rounded.
enum class Precision : uint8_t { float32, tf32, bf16 };

// From now on; float32 until then. Throws InputError where the device lacks it, or is not there.
HEED_EXPORT void set_precision(Device device, Precision precision);

}  // namespace heed::kernels
