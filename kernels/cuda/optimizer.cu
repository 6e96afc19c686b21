#include <cmath>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launch.h"

namespace heed::kernels {
namespace cuda {

template <typename T>
struct Sgd {
  T rate, momentum, decay;
};

template <typename T>
__global__ void sgd_kernel(int64_t count, Sgd<T> step, T* p, const T* g, T* velocity) {
  each_item(count, [&](int64_t i) {
    const T v = step.momentum * velocity[i] + g[i] + step.decay * p[i];
    velocity[i] = v;
    p[i] -= step.rate * v;
  });
}

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
};

template <typename T>
__global__ void adam_kernel(int64_t count, Adam<T> step, T* p, const T* g, T* m, T* v) {
  each_item(count, [&](int64_t i) {
    const T gradient = g[i] + step.added * p[i];
    const T first = step.beta1 * m[i] + step.rest1 * gradient;
    const T second = step.beta2 * v[i] + step.rest2 * gradient * gradient;
    m[i] = first;
    v[i] = second;
    p[i] = step.kept * p[i] - step.rate * first / (std::sqrt(second) * step.root + step.epsilon);
  });
}

template <typename T>
struct Adadelta {
  T rate, rho, rest, epsilon, decay;
};

template <typename T>
__global__ void adadelta_kernel(int64_t count, Adadelta<T> step, T* p, const T* g, T* squares,
                                T* steps) {
  each_item(count, [&](int64_t i) {
    const T gradient = g[i] + step.decay * p[i];
    const T square = step.rho * squares[i] + step.rest * gradient * gradient;
    const T delta = std::sqrt((steps[i] + step.epsilon) / (square + step.epsilon)) * gradient;
    squares[i] = square;
    steps[i] = step.rho * steps[i] + step.rest * delta * delta;
    p[i] -= step.rate * delta;
  });
}

}  // namespace cuda

void CudaBackend::sgd_step(const SgdStep& step, const Tensor& p, const Tensor& g,
                           const Tensor& velocity) {
  dispatch_floating("sgd_step", p.dtype(), [&]<typename T>(T) {
    const cuda::Sgd<T> factors{static_cast<T>(step.learning_rate), static_cast<T>(step.momentum),
                               static_cast<T>(step.weight_decay)};
    cuda::launch(cuda::sgd_kernel<T>, cuda::spread(p.numel()), p.numel(), factors, p.data<T>(),
                 g.data<T>(), velocity.data<T>());
  });
}

void CudaBackend::adam_step(const AdamStep& step, const Tensor& p, const Tensor& g, const Tensor& m,
                            const Tensor& v) {
  dispatch_floating("adam_step", p.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::adam_kernel<T>, cuda::spread(p.numel()), p.numel(), cuda::Adam<T>(step),
                 p.data<T>(), g.data<T>(), m.data<T>(), v.data<T>());
  });
}

void CudaBackend::adadelta_step(const AdadeltaStep& step, const Tensor& p, const Tensor& g,
                                const Tensor& square_average, const Tensor& step_average) {
  dispatch_floating("adadelta_step", p.dtype(), [&]<typename T>(T) {
    const cuda::Adadelta<T> factors{static_cast<T>(step.learning_rate), static_cast<T>(step.rho),
                                    static_cast<T>(1 - step.rho), static_cast<T>(step.epsilon),
                                    static_cast<T>(step.weight_decay)};
    cuda::launch(cuda::adadelta_kernel<T>, cuda::spread(p.numel()), p.numel(), factors, p.data<T>(),
                 g.data<T>(), square_average.data<T>(), step_average.data<T>());
  });
}

}  // namespace heed::kernels
