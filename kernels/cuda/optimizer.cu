#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launch.h"

namespace heed::kernels {
namespace cuda {

// Many parameters in one launch, as many as its arguments have room for (4 KiB).
template <typename T>
struct Parameters {
  struct One {
    T* p;
    const T* g;
    T* first;
    T* second;
    int64_t count;
  };
  static constexpr int64_t most = 64;
  One ones[most];
};

// Blocks (x, y) take parameter y.
template <typename T, typename Rule>
__global__ void update_kernel(Parameters<T> parameters, Rule rule) {
  const typename Parameters<T>::One& one = parameters.ones[blockIdx.y];
  each_item(one.count, [&](int64_t i) { rule(i, one.p, one.g, one.first, one.second); });
}

template <typename T>
struct Sgd {
  T scale, rate, momentum, decay;

  explicit Sgd(const SgdStep& step)
      : scale(static_cast<T>(step.gradient_scale)),
        rate(static_cast<T>(step.learning_rate)),
        momentum(static_cast<T>(step.momentum)),
        decay(static_cast<T>(step.weight_decay)) {}

  __device__ void operator()(int64_t i, T* p, const T* g, T* velocity, T*) const {
    const T v = momentum * velocity[i] + scale * g[i] + decay * p[i];
    velocity[i] = v;
    p[i] -= rate * v;
  }
};

// Factors as the update uses them: bias corrections are in rate and root.
template <typename T>
struct Adam {
  T scale, rate, root, beta1, beta2, rest1, rest2, epsilon, added, kept;

  explicit Adam(const AdamStep& step)
      : scale(static_cast<T>(step.gradient_scale)),
        rate(static_cast<T>(step.learning_rate /
                            (1 - std::pow(step.beta1, static_cast<double>(step.step))))),
        root(static_cast<T>(1 /
                            std::sqrt(1 - std::pow(step.beta2, static_cast<double>(step.step))))),
        beta1(static_cast<T>(step.beta1)),
        beta2(static_cast<T>(step.beta2)),
        // Taken before rounding: 1 - 0.999 in f32 is off by 1.3e-5 of itself.
        rest1(static_cast<T>(1 - step.beta1)),
        rest2(static_cast<T>(1 - step.beta2)),
        epsilon(static_cast<T>(step.epsilon)),
        added(static_cast<T>(step.decoupled ? 0 : step.weight_decay)),
        kept(static_cast<T>(step.decoupled ? 1 - step.learning_rate * step.weight_decay : 1)) {}

  __device__ void operator()(int64_t i, T* p, const T* g, T* m, T* v) const {
    const T gradient = scale * g[i] + added * p[i];
    const T first = beta1 * m[i] + rest1 * gradient;
    const T second = beta2 * v[i] + rest2 * gradient * gradient;
    m[i] = first;
    v[i] = second;
    p[i] = kept * p[i] - rate * first / (std::sqrt(second) * root + epsilon);
  }
};

template <typename T>
struct Adadelta {
  T scale, rate, rho, rest, epsilon, decay;

  explicit Adadelta(const AdadeltaStep& step)
      : scale(static_cast<T>(step.gradient_scale)),
        rate(static_cast<T>(step.learning_rate)),
        rho(static_cast<T>(step.rho)),
        rest(static_cast<T>(1 - step.rho)),
        epsilon(static_cast<T>(step.epsilon)),
        decay(static_cast<T>(step.weight_decay)) {}

  __device__ void operator()(int64_t i, T* p, const T* g, T* squares, T* steps) const {
    const T gradient = scale * g[i] + decay * p[i];
    const T square = rho * squares[i] + rest * gradient * gradient;
    const T delta = std::sqrt((steps[i] + epsilon) / (square + epsilon)) * gradient;
    squares[i] = square;
    steps[i] = rho * steps[i] + rest * delta * delta;
    p[i] -= rate * delta;
  }
};

template <typename T, typename Rule>
void update(std::span<const Updated> parameters, const Rule& rule) {
  constexpr int64_t most_blocks = 1024;  // a parameter: the others' may stay idle
  for (size_t begin = 0; begin < parameters.size(); begin += Parameters<T>::most) {
    const auto part =
        parameters.subspan(begin, std::min<size_t>(Parameters<T>::most, parameters.size() - begin));
    Parameters<T> launched{};
    int64_t largest = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      const Updated& one = part[i];
      launched.ones[i] = {one.p.data<T>(), one.g.data<T>(), one.first.data<T>(),
                          data_or_null<T>(one.second), one.p.numel()};
      largest = std::max(largest, one.p.numel());
    }
    LaunchConfig config = spread(largest);
    config.grid.x = static_cast<unsigned>(std::min<int64_t>(config.grid.x, most_blocks));
    config.grid.y = static_cast<unsigned>(part.size());
    launch(update_kernel<T, Rule>, config, launched, rule);
  }
}

// Rule<T>(step) for the parameters' T.
template <template <typename> typename Rule, typename Step>
void update_by(const char* op, const Step& step, std::span<const Updated> parameters) {
  if (!parameters.empty()) {
    dispatch_floating(op, parameters.front().p.dtype(),
                      [&]<typename T>(T) { update<T>(parameters, Rule<T>(step)); });
  }
}

}  // namespace cuda

void CudaBackend::sgd_step(const SgdStep& step, std::span<const Updated> parameters) {
  cuda::update_by<cuda::Sgd>("sgd_step", step, parameters);
}

void CudaBackend::adam_step(const AdamStep& step, std::span<const Updated> parameters) {
  cuda::update_by<cuda::Adam>("adam_step", step, parameters);
}

void CudaBackend::adadelta_step(const AdadeltaStep& step, std::span<const Updated> parameters) {
  cuda::update_by<cuda::Adadelta>("adadelta_step", step, parameters);
}

}  // namespace heed::kernels
