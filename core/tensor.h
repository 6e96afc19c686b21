#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/export.h"
#include "core/shape.h"

namespace heed {

// What the autograd room hangs on a tensor. core knows only that it can be destroyed.
class HEED_EXPORT AutogradRecord {
 public:
  virtual ~AutogradRecord();
};

// A block of device memory, shared by a tensor and its views. Its version counts in-place changes.
class HEED_EXPORT Storage {
 public:
  Storage(Device device, size_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  int64_t version() const { return version_; }
  void bump_version() { ++version_; }

 private:
  Device device_;
  size_t bytes_;
  void* data_;
  int64_t version_ = 0;
};

// A cheap handle: copies speak of the same numbers and the same gradient. Row-major; views share
// storage. A default-constructed tensor is undefined and may only be asked defined().
class HEED_EXPORT Tensor {
 public:
  Tensor() = default;

  // Not initialised.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32,
                      Device device = default_device());
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32,
                      Device device = default_device());
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32,
                     Device device = default_device());
  // Throws Error when values.size() is not shape.numel(). T: float, double, int32_t, bool.
  template <typename T>
  static Tensor from_vector(const std::vector<T>& values, const Shape& shape,
                            Device device = default_device());
  static Tensor scalar(double value, DType dtype = DType::f32, Device device = default_device());

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const { return impl_->shape; }
  const Shape& strides() const { return impl_->strides; }  // in elements
  int64_t offset() const { return impl_->offset; }         // in elements
  int rank() const { return impl_->shape.rank(); }
  int64_t dim(int i) const { return impl_->shape.dim(i); }  // dim(-1) is the last
  int64_t numel() const { return impl_->numel; }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->storage->device(); }
  bool is_contiguous() const;

  // Memory at the first element. T must be the dtype's type (asserted).
  template <typename T>
  T* data() const {
    HEED_ASSERT(dtype_of<T>() == dtype(), "the tensor holds {}", dtype_name(dtype()));
    return static_cast<T*>(raw_data());
  }
  void* raw_data() const;

  // The only element; throws Error when there are more or none.
  double item() const;
  // A copy in row-major order. T must be the dtype's type (Error otherwise).
  template <typename T>
  std::vector<T> to_vector() const;
  // A copy as doubles, whatever the dtype.
  std::vector<double> to_doubles() const;

  // A copy in storage of its own, row-major, without autograd record.
  Tensor clone() const;

  // Another layout of the same storage, without autograd record. The differentiable views
  // (reshape, transpose, slice, ...) are functions of the autograd room. Bounds are checked.
  Tensor as_strided(const Shape& shape, const Shape& strides, int64_t offset) const;
  // The same numbers without autograd record.
  Tensor detach() const { return as_strided(shape(), strides(), offset()); }

  // From here on every handle of this tensor holds other's numbers (layout, dtype and device
  // included); its autograd record stays. For loading and converting parameters.
  void set_data(const Tensor& other) const;

  // In-place changes through a raw pointer have to be announced, so that autograd can tell.
  int64_t version() const { return impl_->storage->version(); }
  void bump_version() const { impl_->storage->bump_version(); }
  // True when no other handle and no view sees these numbers.
  bool exclusive() const { return impl_.use_count() == 1 && impl_->storage.use_count() == 1; }
  bool shares_storage(const Tensor& other) const { return impl_->storage == other.impl_->storage; }
  // True when both handles speak of the very same tensor.
  bool same(const Tensor& other) const { return impl_ == other.impl_; }
  const void* identity() const { return impl_.get(); }

  AutogradRecord* autograd() const { return impl_->autograd.get(); }
  void set_autograd(std::shared_ptr<AutogradRecord> record) const {
    impl_->autograd = std::move(record);
  }
  const std::shared_ptr<AutogradRecord>& shared_autograd() const { return impl_->autograd; }

  // "f32 (2, 3) [[1, 2, 3], [4, 5, 6]]", long ones shortened.
  std::string to_string() const;

 private:
  struct Impl {
    std::shared_ptr<Storage> storage;
    Shape shape;
    Shape strides;
    int64_t offset = 0;
    int64_t numel = 0;
    DType dtype = DType::f32;
    std::shared_ptr<AutogradRecord> autograd;
  };
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<Impl> impl_;
};

// Row-major indices of a shape one after the other: calls f(offset) with the element offset that
// `strides` gives each. For host code that is not worth a kernel.
template <typename F>
void for_each_offset(const Shape& shape, const Shape& strides, F&& f) {
  const int64_t count = shape.numel();
  Shape index = Shape::filled(shape.rank(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    f(offset);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < shape[d]) {
        break;
      }
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace heed
