#include "core/dtype.h"

namespace heed {

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::boolean:
      break;
  }
  return "bool";
}

int64_t dtype_size(DType dtype) {
  return dispatch_all(dtype, [](auto value) { return static_cast<int64_t>(sizeof(value)); });
}

}  // namespace heed
