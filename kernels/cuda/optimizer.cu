#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/reduction.h"

namespace heed::kernels {
namespace cuda {

// Many parameters in one launch: its arguments have room for 4 KiB.
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
static_assert(sizeof(Parameters<float>) <= 4000);

// Blocks (x, y) take parameter y. The rule is given the scaled gradient.
template <typename T, typename Rule>
__global__ void update_kernel(Parameters<T> parameters, const double* gradient_scale, Rule rule) {
  const typename Parameters<T>::One& one = parameters.ones[blockIdx.y];
  const auto scale = static_cast<T>(*gradient_scale);
  if (scale == scale) {
    each_item(one.count,
              [&](int64_t i) { rule(i, one.p, scale * one.g[i], one.first, one.second); });
  }
}

template <typename T>
struct Sgd {
  T rate, momentum, decay;

  explicit Sgd(const SgdStep& step)
      : rate(static_cast<T>(step.learning_rate)),
        momentum(static_cast<T>(step.momentum)),
        decay(static_cast<T>(step.weight_decay)) {}

  __device__ void operator()(int64_t i, T* p, T g, T* velocity, T*) const {
    const T v = momentum * velocity[i] + g + decay * p[i];
    velocity[i] = v;
    p[i] -= rate * v;
  }
};

// Factors as the update uses them: bias corrections are in rate and root.
template <typename T>
struct Adam {
  T rate, root, beta1, beta2, rest1, rest2, epsilon, added, kept;

  explicit Adam(const AdamStep& step)
      : rate(static_cast<T>(step.learning_rate /
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

  __device__ void operator()(int64_t i, T* p, T g, T* m, T* v) const {
    const T gradient = g + added * p[i];
    const T first = beta1 * m[i] + rest1 * gradient;
    const T second = beta2 * v[i] + rest2 * gradient * gradient;
    m[i] = first;
    v[i] = second;
    p[i] = kept * p[i] - rate * first / (std::sqrt(second) * root + epsilon);
  }
};

template <typename T>
struct Adadelta {
  T rate, rho, rest, epsilon, decay;

  explicit Adadelta(const AdadeltaStep& step)
      : rate(static_cast<T>(step.learning_rate)),
        rho(static_cast<T>(step.rho)),
        rest(static_cast<T>(1 - step.rho)),
        epsilon(static_cast<T>(step.epsilon)),
        decay(static_cast<T>(step.weight_decay)) {}

  __device__ void operator()(int64_t i, T* p, T g, T* squares, T* steps) const {
    const T gradient = g + decay * p[i];
    const T square = rho * squares[i] + rest * gradient * gradient;
    const T delta = std::sqrt((steps[i] + epsilon) / (square + epsilon)) * gradient;
    squares[i] = square;
    steps[i] = rho * steps[i] + rest * delta * delta;
    p[i] -= rate * delta;
  }
};

template <typename T, typename Rule>
void update(const Tensor& gradient_scale, std::span<const Updated> parameters, const Rule& rule) {
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
    launch(update_kernel<T, Rule>, config, launched, gradient_scale.data<double>(), rule);
  }
}

// Rule<T>(step) for the parameters' T.
template <template <typename> typename Rule, typename Step>
void update_by(const char* op, const Step& step, const Tensor& gradient_scale,
               std::span<const Updated> parameters) {
  if (!parameters.empty()) {
    dispatch_floating(op, parameters.front().p.dtype(),
                      [&]<typename T>(T) { update<T>(gradient_scale, parameters, Rule<T>(step)); });
  }
}

template <typename T>
struct Terms {
  const T* terms[most_scalars];
};

template <typename T>
__global__ void add_scalars_kernel(Terms<T> terms, int64_t count, double* sums) {
  each_item(count, [&](int64_t i) { sums[i] += static_cast<double>(*terms.terms[i]); });
}

// One block.
__global__ void gradient_scale_kernel(int64_t arrays, const double* squares, int64_t sums,
                                      const double* losses, double tokens, double clip,
                                      double* scale, double* norm) {
  const double found =
      std::sqrt(reduce_items(arrays, 0.0, Plus(), [&](int64_t i) { return squares[i]; })) / tokens;
  if (threadIdx.x != 0) {
    return;
  }
  double wrong = found - found;  // 0, or NaN
  for (int64_t i = 0; i < sums; ++i) {
    wrong += losses[i] - losses[i];
  }
  *norm = found;
  *scale = wrong + (clip > 0 && found > clip ? clip / found / tokens : 1 / tokens);
}

}  // namespace cuda

void CudaBackend::add_scalars(std::span<const Tensor> terms, const Tensor& sums) {
  HEED_ASSERT(!terms.empty() && terms.size() <= most_scalars, "{}", terms.size());
  dispatch_floating("add_scalars", terms.front().dtype(), [&]<typename T>(T) {
    cuda::Terms<T> launched{};
    std::transform(terms.begin(), terms.end(), launched.terms,
                   [](const Tensor& term) { return term.data<T>(); });
    const auto count = static_cast<int64_t>(terms.size());
    cuda::launch(cuda::add_scalars_kernel<T>, cuda::spread(count), launched, count,
                 sums.data<double>());
  });
}

void CudaBackend::gradient_scale(const Tensor& squares, const Tensor& losses, double tokens,
                                 double clip, const Tensor& scale, const Tensor& norm) {
  cuda::launch(cuda::gradient_scale_kernel, cuda::block_a_row(1, squares.numel()), squares.numel(),
               squares.data<double>(), losses.numel(), losses.data<double>(), tokens, clip,
               scale.data<double>(), norm.data<double>());
}

void CudaBackend::sgd_step(const SgdStep& step, const Tensor& gradient_scale,
                           std::span<const Updated> parameters) {
  cuda::update_by<cuda::Sgd>("sgd_step", step, gradient_scale, parameters);
}

void CudaBackend::adam_step(const AdamStep& step, const Tensor& gradient_scale,
                            std::span<const Updated> parameters) {
  cuda::update_by<cuda::Adam>("adam_step", step, gradient_scale, parameters);
}

void CudaBackend::adadelta_step(const AdadeltaStep& step, const Tensor& gradient_scale,
                                std::span<const Updated> parameters) {
  cuda::update_by<cuda::Adadelta>("adadelta_step", step, gradient_scale, parameters);
}

}  // namespace heed::kernels
