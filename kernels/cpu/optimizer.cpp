#include <cmath>

#include "core/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/strided.h"

namespace heed::kernels {

void CpuBackend::sgd_step(const SgdStep& step, const Tensor& p, const Tensor& g,
                          const Tensor& velocity) {
  dispatch_floating("sgd_step", p.dtype(), [&]<typename T>(T) {
    T* param = p.data<T>();
    T* v = velocity.data<T>();
    const T* grad = g.data<T>();
    const auto rate = static_cast<T>(step.learning_rate);
    const auto momentum = static_cast<T>(step.momentum);
    const auto decay = static_cast<T>(step.weight_decay);
    parallel_for(p.numel(), elementwise_grain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        v[i] = momentum * v[i] + grad[i] + decay * param[i];
        param[i] -= rate * v[i];
      }
    });
  });
}

void CpuBackend::adam_step(const AdamStep& step, const Tensor& p, const Tensor& g, const Tensor& m,
                           const Tensor& v) {
  dispatch_floating("adam_step", p.dtype(), [&]<typename T>(T) {
    T* param = p.data<T>();
    T* first = m.data<T>();
    T* second = v.data<T>();
    const T* grad = g.data<T>();
    const double correction_1 = 1 - std::pow(step.beta1, static_cast<double>(step.step));
    const double correction_2 = 1 - std::pow(step.beta2, static_cast<double>(step.step));
    const auto rate = static_cast<T>(step.learning_rate / correction_1);
    const auto root = static_cast<T>(1 / std::sqrt(correction_2));
    const auto b1 = static_cast<T>(step.beta1);
    const auto b2 = static_cast<T>(step.beta2);
    // Taken before rounding: 1 - 0.999 in f32 is off by 1.3e-5 of itself.
    const auto rest_1 = static_cast<T>(1 - step.beta1);
    const auto rest_2 = static_cast<T>(1 - step.beta2);
    const auto eps = static_cast<T>(step.epsilon);
    const auto added = static_cast<T>(step.decoupled ? 0 : step.weight_decay);
    const auto kept =
        static_cast<T>(step.decoupled ? 1 - step.learning_rate * step.weight_decay : 1);
    parallel_for(p.numel(), elementwise_grain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T gradient = grad[i] + added * param[i];
        first[i] = b1 * first[i] + rest_1 * gradient;
        second[i] = b2 * second[i] + rest_2 * gradient * gradient;
        param[i] = kept * param[i] - rate * first[i] / (std::sqrt(second[i]) * root + eps);
      }
    });
  });
}

void CpuBackend::adadelta_step(const AdadeltaStep& step, const Tensor& p, const Tensor& g,
                               const Tensor& square_average, const Tensor& step_average) {
  dispatch_floating("adadelta_step", p.dtype(), [&]<typename T>(T) {
    T* param = p.data<T>();
    T* squares = square_average.data<T>();
    T* steps = step_average.data<T>();
    const T* grad = g.data<T>();
    const auto rate = static_cast<T>(step.learning_rate);
    const auto rho = static_cast<T>(step.rho);
    const auto rest = static_cast<T>(1 - step.rho);
    const auto eps = static_cast<T>(step.epsilon);
    const auto decay = static_cast<T>(step.weight_decay);
    parallel_for(p.numel(), elementwise_grain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T gradient = grad[i] + decay * param[i];
        squares[i] = rho * squares[i] + rest * gradient * gradient;
        const T delta = std::sqrt((steps[i] + eps) / (squares[i] + eps)) * gradient;
        steps[i] = rho * steps[i] + rest * delta * delta;
        param[i] -= rate * delta;
      }
    });
  });
}

}  // namespace heed::kernels
