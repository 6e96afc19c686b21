#include "train/update_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "autograd/autograd.h"
#include "kernels/backend.h"

namespace heed::train {
namespace {

// The report as it lies on the device, f64 in each place: these, then a sum of squares a gradient.
enum Place : int64_t { loss_place, nll_place, scale_place, norm_place, squares_place };

Tensor part(const Tensor& report, int64_t place, int64_t count) {
  return report.as_strided({count}, {1}, report.offset() + place);
}

}  // namespace

UpdateReport::UpdateReport(std::vector<NamedTensor> parameters)
    : parameters_(std::move(parameters)) {
  HEED_ASSERT(!parameters_.empty(), "nothing to update");
  const Device device = parameters_.front().tensor.device();
  const auto most = static_cast<size_t>(squares_place) + parameters_.size();
  report_ = Tensor::empty({static_cast<int64_t>(most)}, DType::f64, device);
  readback_ = device_memory(device).make_readback(most * sizeof(double));
}

void UpdateReport::begin() {
  tokens_ = 0;
  kernels::backend(report_).fill(part(report_, loss_place, 2), 0);
}

void UpdateReport::add(const BatchLoss& batch) {
  tokens_ += batch.tokens;
  kernels::backend(report_).add_scalars(std::array{batch.loss, batch.nll},
                                        part(report_, loss_place, 2));
}

Tensor UpdateReport::gradient_scale(double clip) {
  std::vector<Tensor> gradients;
  reported_.clear();
  for (const NamedTensor& parameter : parameters_) {
    if (const Tensor grad = gradient(parameter.tensor); grad.defined()) {
      gradients.push_back(grad);
      reported_.push_back(parameter.name);
    }
  }
  kernels::Backend& device = kernels::backend(report_);
  const auto count = static_cast<int64_t>(gradients.size());
  const Tensor squares = part(report_, squares_place, count);
  device.sums_of_squares(gradients, squares);
  const Tensor scale = part(report_, scale_place, 1);
  device.gradient_scale(squares, part(report_, loss_place, 1),
                        static_cast<double>(std::max<int64_t>(tokens_, 1)), clip, scale,
                        part(report_, norm_place, 1));
  readback_->begin(report_.raw_data(), static_cast<size_t>(squares_place + count) * sizeof(double));
  return scale;
}

UpdateReport::Numbers UpdateReport::wait() {
  const auto* numbers = static_cast<const double*>(readback_->wait());
  const auto bad =
      std::find_if_not(numbers + squares_place, numbers + squares_place + reported_.size(),
                       [](double squares) { return std::isfinite(squares); });
  const auto index = static_cast<size_t>(bad - (numbers + squares_place));
  return {!std::isnan(numbers[scale_place]), numbers[loss_place], numbers[nll_place],
          numbers[norm_place], index < reported_.size() ? reported_[index] : ""};
}

}  // namespace heed::train
