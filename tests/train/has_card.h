#pragma once

#include "core/device.h"
#include "core/error.h"
#include "kernels/backend.h"

namespace heed::test {

inline constexpr Device card = {DeviceKind::cuda};

// A real one or an emulated one.
inline bool has_card() {
  try {
    kernels::backend(card);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

}  // namespace heed::test
