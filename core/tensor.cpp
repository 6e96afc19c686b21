#include "core/tensor.h"

#include <algorithm>
#include <type_traits>

#include "core/error.h"
#include "core/memory.h"

namespace heed {
namespace {

template <typename T>
void upload(const std::vector<T>& values, const Tensor& tensor) {
  DeviceMemory& memory = device_memory(tensor.device());
  if constexpr (std::is_same_v<T, bool>) {
    const std::vector<uint8_t> bytes(values.begin(), values.end());
    memory.copy_from_host(tensor.raw_data(), bytes.data(), bytes.size());
  } else {
    memory.copy_from_host(tensor.raw_data(), values.data(), values.size() * sizeof(T));
  }
}

}  // namespace

AutogradRecord::~AutogradRecord() = default;

Storage::Storage(Device device, size_t bytes)
    : device_(device), bytes_(bytes), data_(device_memory(device).allocate(bytes)) {}

Storage::~Storage() { device_memory(device_).deallocate(data_, bytes_); }

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  for (const int64_t size : shape) {
    HEED_CHECK(size >= 0, "tensor", "a size is negative: {}", shape.to_string());
  }
  const int64_t numel = shape.numel();
  int64_t bytes = 0;
  HEED_CHECK(!__builtin_mul_overflow(numel, dtype_size(dtype), &bytes), "tensor",
             "{} {} has more bytes than 64 bits count", dtype_name(dtype), shape.to_string());
  return Tensor(
      std::make_shared<Impl>(Impl{std::make_shared<Storage>(device, static_cast<size_t>(bytes)),
                                  shape, shape.strides(), 0, numel, dtype, nullptr}));
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  Tensor result = empty(shape, dtype, device);
  device_memory(device).zero(result.raw_data(), result.impl_->storage->bytes());
  return result;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
  const Tensor result = empty(shape, dtype, device);
  dispatch_all(dtype, [&]<typename T>(T) {
    upload(std::vector<T>(static_cast<size_t>(result.numel()), static_cast<T>(value)), result);
  });
  return result;
}

Tensor Tensor::scalar(double value, DType dtype, Device device) {
  return full({}, value, dtype, device);
}

template <typename T>
Tensor Tensor::from_vector(const std::vector<T>& values, const Shape& shape, Device device) {
  Tensor result = empty(shape, dtype_of<T>(), device);
  HEED_CHECK(static_cast<int64_t>(values.size()) == result.numel(), "tensor",
             "{} values do not fill a tensor of shape {}", values.size(), shape.to_string());
  upload(values, result);
  return result;
}

bool Tensor::is_contiguous() const {
  int64_t step = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape()[i] != 1 && strides()[i] != step) {
      return numel() == 0;
    }
    step *= shape()[i];
  }
  return true;
}

void* Tensor::raw_data() const {
  return static_cast<char*>(impl_->storage->data()) + impl_->offset * dtype_size(impl_->dtype);
}

double Tensor::item() const {
  HEED_CHECK(numel() == 1, "item", "one element is expected, the tensor has {} {}", numel(),
             shape().to_string());
  return to_doubles().front();
}

template <typename T>
std::vector<T> Tensor::to_vector() const {
  HEED_CHECK(dtype_of<T>() == dtype(), "to_vector", "the tensor holds {}, {} was asked for",
             dtype_name(dtype()), dtype_name(dtype_of<T>()));
  // The span of memory that the elements lie in, fetched in one copy.
  int64_t last = 0;
  for (int i = 0; i < rank(); ++i) {
    last += std::max<int64_t>(shape()[i] - 1, 0) * strides()[i];
  }
  std::vector<T> result;
  if (numel() == 0) {
    return result;
  }
  using Raw = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  std::vector<Raw> memory(static_cast<size_t>(last + 1));
  device_memory(device()).copy_to_host(memory.data(), raw_data(), memory.size() * sizeof(Raw));
  if constexpr (std::is_same_v<Raw, T>) {
    if (is_contiguous()) {
      return memory;
    }
  }
  result.reserve(static_cast<size_t>(numel()));
  for_each_offset(shape(), strides(), [&](int64_t offset) {
    result.push_back(static_cast<T>(memory[static_cast<size_t>(offset)]));
  });
  return result;
}

std::vector<double> Tensor::to_doubles() const {
  return dispatch_all(dtype(), [&]<typename T>(T) {
    const auto values = to_vector<T>();
    return std::vector<double>(values.begin(), values.end());
  });
}

Tensor Tensor::as_strided(const Shape& shape, const Shape& strides, int64_t offset) const {
  HEED_ASSERT(shape.rank() == strides.rank(), "{} sizes, {} strides", shape.rank(), strides.rank());
  const int64_t numel = shape.numel();
  int64_t last = offset;
  for (int i = 0; i < shape.rank(); ++i) {
    HEED_ASSERT(strides[i] >= 0, "strides {}", strides.to_string());
    last += std::max<int64_t>(shape[i] - 1, 0) * strides[i];
  }
  const auto capacity = static_cast<int64_t>(impl_->storage->bytes()) / dtype_size(dtype());
  HEED_CHECK(numel == 0 || (offset >= 0 && last < capacity), "as_strided",
             "shape {} with strides {} at {} leaves the storage of {} elements", shape.to_string(),
             strides.to_string(), offset, capacity);
  return Tensor(std::make_shared<Impl>(
      Impl{impl_->storage, shape, strides, offset, numel, impl_->dtype, nullptr}));
}

Tensor Tensor::clone() const {
  return dispatch_all(
      dtype(), [&]<typename T>(T) { return from_vector(to_vector<T>(), shape(), device()); });
}

void Tensor::set_data(const Tensor& other) const {
  auto record = std::move(impl_->autograd);
  *impl_ = *other.impl_;
  impl_->autograd = std::move(record);
}

namespace {

void append_values(std::string& text, const Tensor& tensor, const std::vector<double>& values,
                   int dim, int64_t& position) {
  if (dim == tensor.rank()) {
    const double value = values[static_cast<size_t>(position++)];
    text += tensor.dtype() == DType::boolean ? (value != 0 ? "true" : "false")
                                             : fmt::format("{:.6g}", value);
    return;
  }
  text += "[";
  for (int64_t i = 0; i < tensor.shape()[dim]; ++i) {
    text += i == 0 ? "" : ", ";
    append_values(text, tensor, values, dim + 1, position);
  }
  text += "]";
}

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) {
    return "undefined";
  }
  std::string text = fmt::format("{} {} ", dtype_name(dtype()), shape().to_string());
  constexpr int64_t most_shown = 64;
  if (numel() > most_shown) {
    return text + "[...]";
  }
  int64_t position = 0;
  append_values(text, *this, to_doubles(), 0, position);
  return text;
}

template HEED_EXPORT Tensor Tensor::from_vector(const std::vector<float>&, const Shape&, Device);
template HEED_EXPORT Tensor Tensor::from_vector(const std::vector<double>&, const Shape&, Device);
template HEED_EXPORT Tensor Tensor::from_vector(const std::vector<int32_t>&, const Shape&, Device);
template HEED_EXPORT Tensor Tensor::from_vector(const std::vector<bool>&, const Shape&, Device);
template HEED_EXPORT std::vector<float> Tensor::to_vector() const;
template HEED_EXPORT std::vector<double> Tensor::to_vector() const;
template HEED_EXPORT std::vector<int32_t> Tensor::to_vector() const;
template HEED_EXPORT std::vector<bool> Tensor::to_vector() const;

}  // namespace heed
