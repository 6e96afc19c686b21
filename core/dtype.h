#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/error.h"
#include "core/export.h"

namespace heed {

// Element types. There is no promotion: an op wants equal dtypes and says so.
enum class DType : uint8_t { f32, f64, i32, boolean };

HEED_EXPORT std::string_view dtype_name(DType dtype);  // "f32", "f64", "i32", "bool"
HEED_EXPORT int64_t dtype_size(DType dtype);           // bytes
inline bool is_floating(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) {
    return DType::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DType::f64;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return DType::i32;
  } else {
    static_assert(std::is_same_v<T, bool>, "a tensor holds float, double, int32_t or bool");
    return DType::boolean;
  }
}

// The one place that turns a dtype into a C++ type: f is called with a value of that type.
//   dispatch_floating("tanh", x.dtype(), [&]<typename T>(T) { ... });
template <typename F>
decltype(auto) dispatch_floating(std::string_view op, DType dtype, F&& f) {
  if (dtype == DType::f32) {
    return f(float{});
  }
  HEED_CHECK(dtype == DType::f64, op, "dtype {} is not a floating one", dtype_name(dtype));
  return f(double{});
}

template <typename F>
decltype(auto) dispatch_all(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i32:
      return f(int32_t{});
    case DType::boolean:
      break;
  }
  return f(bool{});
}

}  // namespace heed
