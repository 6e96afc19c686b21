#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace heed::train {

// A whole number of that type, within the bounds; throws json::exception for any other value. (The
// library itself casts: 1e300 would become whatever the machine makes of it.)
template <typename T, typename Json>
T whole_number(const Json& value, T least = std::numeric_limits<T>::min(),
               T most = std::numeric_limits<T>::max()) {
  const bool fits =
      value.is_number_unsigned()
          ? std::in_range<T>(value.template get<uint64_t>())
          : value.is_number_integer() && std::in_range<T>(value.template get<int64_t>());
  if (!fits || value.template get<T>() < least || value.template get<T>() > most) {
    throw nlohmann::detail::type_error::create(302, "a whole number is expected", &value);
  }
  return value.template get<T>();
}

}  // namespace heed::train
