#pragma once

#include "core/export.h"
#include "core/random.h"
#include "core/tensor.h"

// Initialisers: they overwrite the tensor with numbers drawn from the generator, in row-major
// order, in f64 before rounding (so f32 and f64 models start alike).
namespace heed::nn {

// While one lives, initialisers of this thread leave tensors as they are and draw nothing: for a
// model whose every weight is about to be loaded, which would otherwise spend its start on random
// numbers that nobody sees.
class HEED_EXPORT SkipInitialization {
 public:
  SkipInitialization();
  ~SkipInitialization();
  SkipInitialization(const SkipInitialization&) = delete;
  SkipInitialization& operator=(const SkipInitialization&) = delete;

 private:
  bool before_;
};

HEED_EXPORT void init_constant(const Tensor& tensor, double value);
HEED_EXPORT void init_uniform(const Tensor& tensor, double low, double high, Generator& generator);
HEED_EXPORT void init_normal(const Tensor& tensor, double deviation, Generator& generator);
// Glorot & Bengio 2010: uniform in +-gain sqrt(6 / (fan_in + fan_out)); a matrix (out, in).
HEED_EXPORT void init_xavier(const Tensor& matrix, Generator& generator, double gain = 1);
// Saxe et al. 2014: rows (or columns, when there are more rows) are orthonormal. Blocks of
// `columns` rows each are made orthogonal on their own (the three gates of a GRU).
HEED_EXPORT void init_orthogonal(const Tensor& matrix, Generator& generator);

}  // namespace heed::nn
