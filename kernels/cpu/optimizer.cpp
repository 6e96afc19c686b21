#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/strided.h"

namespace heed::kernels {
namespace {

// update(i, p, g, first, second), g the scaled gradient, for every element of every parameter.
// make_update(T) makes it, with its factors rounded to the parameters' dtype.
template <typename F>
void for_each_element(const char* op, const Tensor& gradient_scale,
                      std::span<const Updated> parameters, F make_update) {
  const double given_scale = *gradient_scale.data<double>();
  if (std::isnan(given_scale)) {
    return;
  }
  for (const Updated& one : parameters) {
    dispatch_floating(op, one.p.dtype(), [&]<typename T>(T zero) {
      const auto update = make_update(zero);
      const auto scale = static_cast<T>(given_scale);
      T* p = one.p.data<T>();
      const T* g = one.g.data<T>();
      T* first = one.first.data<T>();
      T* second = one.second.defined() ? one.second.data<T>() : nullptr;
      parallel_for(one.p.numel(), elementwise_grain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          update(i, p, scale * g[i], first, second);
        }
      });
    });
  }
}

}  // namespace

void CpuBackend::add_scalars(std::span<const Tensor> terms, const Tensor& sums) {
  HEED_ASSERT(!terms.empty() && terms.size() <= most_scalars, "{}", terms.size());
  dispatch_floating("add_scalars", terms.front().dtype(), [&]<typename T>(T) {
    double* sum = sums.data<double>();
    for (const Tensor& term : terms) {
      *sum++ += *term.data<T>();
    }
  });
}

void CpuBackend::gradient_scale(const Tensor& squares, const Tensor& losses, double tokens,
                                double clip, const Tensor& scale, const Tensor& norm) {
  const std::span all(squares.data<double>(), static_cast<size_t>(squares.numel()));
  const std::span sums(losses.data<double>(), static_cast<size_t>(losses.numel()));
  const double found = std::sqrt(std::accumulate(all.begin(), all.end(), 0.0)) / tokens;
  const bool finite = std::isfinite(found) && std::all_of(sums.begin(), sums.end(), [](double sum) {
                        return std::isfinite(sum);
                      });
  *norm.data<double>() = found;
  *scale.data<double>() = !finite                    ? std::numeric_limits<double>::quiet_NaN()
                          : clip > 0 && found > clip ? clip / found / tokens
                                                     : 1 / tokens;
}

void CpuBackend::sgd_step(const SgdStep& step, const Tensor& gradient_scale,
                          std::span<const Updated> parameters) {
  for_each_element("sgd_step", gradient_scale, parameters, [&]<typename T>(T) {
    const auto rate = static_cast<T>(step.learning_rate);
    const auto momentum = static_cast<T>(step.momentum);
    const auto decay = static_cast<T>(step.weight_decay);
    return [=](int64_t i, T* p, T g, T* velocity, T*) {
      velocity[i] = momentum * velocity[i] + g + decay * p[i];
      p[i] -= rate * velocity[i];
    };
  });
}

void CpuBackend::adam_step(const AdamStep& step, const Tensor& gradient_scale,
                           std::span<const Updated> parameters) {
  for_each_element("adam_step", gradient_scale, parameters, [&]<typename T>(T) {
    const double correction_1 = 1 - std::pow(step.beta1, static_cast<double>(step.step));
    const double correction_2 = 1 - std::pow(step.beta2, static_cast<double>(step.step));
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
    return [=](int64_t i, T* p, T g, T* m, T* v) {
      const T gradient = g + added * p[i];
      m[i] = beta_1 * m[i] + rest_1 * gradient;
      v[i] = beta_2 * v[i] + rest_2 * gradient * gradient;
      p[i] = kept * p[i] - rate * m[i] / (std::sqrt(v[i]) * root + epsilon);
    };
  });
}

void CpuBackend::adadelta_step(const AdadeltaStep& step, const Tensor& gradient_scale,
                               std::span<const Updated> parameters) {
  for_each_element("adadelta_step", gradient_scale, parameters, [&]<typename T>(T) {
    const auto rate = static_cast<T>(step.learning_rate);
    const auto rho = static_cast<T>(step.rho);
    const auto rest = static_cast<T>(1 - step.rho);
    const auto epsilon = static_cast<T>(step.epsilon);
    const auto decay = static_cast<T>(step.weight_decay);
    return [=](int64_t i, T* p, T g, T* squares, T* steps) {
      const T gradient = g + decay * p[i];
      squares[i] = rho * squares[i] + rest * gradient * gradient;
      const T delta = std::sqrt((steps[i] + epsilon) / (squares[i] + epsilon)) * gradient;
      steps[i] = rho * steps[i] + rest * delta * delta;
      p[i] -= rate * delta;
    };
  });
}

}  // namespace heed::kernels
