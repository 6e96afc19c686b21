#include <cmath>

#include "core/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/strided.h"

namespace heed::kernels {
namespace {

// update(i, p, g, first, second) for every element of every parameter. make_update(T) makes it,
// with its factors rounded to the parameters' dtype.
template <typename F>
void for_each_element(const char* op, std::span<const Updated> parameters, F make_update) {
  for (const Updated& one : parameters) {
    dispatch_floating(op, one.p.dtype(), [&]<typename T>(T zero) {
      const auto update = make_update(zero);
      T* p = one.p.data<T>();
      const T* g = one.g.data<T>();
      T* first = one.first.data<T>();
      T* second = one.second.defined() ? one.second.data<T>() : nullptr;
      parallel_for(one.p.numel(), elementwise_grain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          update(i, p, g, first, second);
        }
      });
    });
  }
}

}  // namespace

void CpuBackend::sgd_step(const SgdStep& step, std::span<const Updated> parameters) {
  for_each_element("sgd_step", parameters, [&]<typename T>(T) {
    const auto scale = static_cast<T>(step.gradient_scale);
    const auto rate = static_cast<T>(step.learning_rate);
    const auto momentum = static_cast<T>(step.momentum);
    const auto decay = static_cast<T>(step.weight_decay);
    return [=](int64_t i, T* p, const T* g, T* velocity, T*) {
      velocity[i] = momentum * velocity[i] + scale * g[i] + decay * p[i];
      p[i] -= rate * velocity[i];
    };
  });
}

void CpuBackend::adam_step(const AdamStep& step, std::span<const Updated> parameters) {
  for_each_element("adam_step", parameters, [&]<typename T>(T) {
    const double correction_1 = 1 - std::pow(step.beta1, static_cast<double>(step.step));
    const double correction_2 = 1 - std::pow(step.beta2, static_cast<double>(step.step));
    const auto scale = static_cast<T>(step.gradient_scale);
    const auto rate = static_cast<T>(step.learning_rate / correction_1);
    const auto root = static_cast<T>(1 / std::sqrt(correction_2));
    const auto beta_1 = static_cast<T>(step.beta1);
    const auto beta_2 = static_cast<T>(step.beta2);
    // Taken before rounding: 1 - 0.999 in f32 is off by 1.3e-5 of itself.
    const auto rest_1 = static_cast<T>(1 - step.beta1);
    const auto rest_2 = static_cast<T>(1 - step.beta2);
    const auto epsilon = static_cast<T>(step.epsilon);
    const auto added = static_cast<T>(step.decoupled ? 0 : step.weight_decay);
    const auto kept =
        static_cast<T>(step.decoupled ? 1 - step.learning_rate * step.weight_decay : 1);
    return [=](int64_t i, T* p, const T* g, T* m, T* v) {
      const T gradient = scale * g[i] + added * p[i];
      m[i] = beta_1 * m[i] + rest_1 * gradient;
      v[i] = beta_2 * v[i] + rest_2 * gradient * gradient;
      p[i] = kept * p[i] - rate * m[i] / (std::sqrt(v[i]) * root + epsilon);
    };
  });
}

void CpuBackend::adadelta_step(const AdadeltaStep& step, std::span<const Updated> parameters) {
  for_each_element("adadelta_step", parameters, [&]<typename T>(T) {
    const auto scale = static_cast<T>(step.gradient_scale);
    const auto rate = static_cast<T>(step.learning_rate);
    const auto rho = static_cast<T>(step.rho);
    const auto rest = static_cast<T>(1 - step.rho);
    const auto epsilon = static_cast<T>(step.epsilon);
    const auto decay = static_cast<T>(step.weight_decay);
    return [=](int64_t i, T* p, const T* g, T* squares, T* steps) {
      const T gradient = scale * g[i] + decay * p[i];
      squares[i] = rho * squares[i] + rest * gradient * gradient;
      const T delta = std::sqrt((steps[i] + epsilon) / (squares[i] + epsilon)) * gradient;
      steps[i] = rho * steps[i] + rest * delta * delta;
      p[i] -= rate * delta;
    };
  });
}

}  // namespace heed::kernels
