#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/export.h"
#include "core/random.h"
#include "nn/module.h"

namespace heed::nn {

// y = x W^T + b. weight (out, in), bias (out); both uniform in +-1 / sqrt(in).
class HEED_EXPORT Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, Generator& generator, bool with_bias = true);
  Tensor forward(const Tensor& x) const;  // (..., in) -> (..., out)
  // From here on the weight is another module's (tied embeddings); shapes must agree.
  void share_weight(const Tensor& other);

  Tensor weight;
  Tensor bias;  // undefined without bias
};

// weight (vocabulary, width), normal with deviation 1; the row of `padding` starts as zeros and
// gets no gradient.
class HEED_EXPORT Embedding : public Module {
 public:
  Embedding(int64_t vocabulary, int64_t width, Generator& generator, int64_t padding = -1);
  Tensor forward(const Tensor& ids) const;  // (...) i32 -> (..., width)
  // From here on the table is another module's; shapes must agree.
  void share_weight(const Tensor& other);
  // Makes the row of padding zeros again, after the table was given other numbers.
  void zero_padding() const;

  Tensor weight;

 private:
  int64_t padding_;
};

// In training keeps an element with probability 1 - p and scales it up; the identity otherwise.
class HEED_EXPORT Dropout : public Module {
 public:
  explicit Dropout(double p);
  Tensor forward(const Tensor& x) const;

 private:
  double p_;
};

enum class NormKind { layer, rms };

// A norm over the last dimension, whichever kind a network's options name.
class HEED_EXPORT Norm : public Module {
 public:
  virtual Tensor forward(const Tensor& x) const = 0;
};
// rms has no bias.
HEED_EXPORT std::unique_ptr<Norm> make_norm(NormKind kind, int64_t width, bool with_bias = true);

// Ba et al. 2016. weight starts as ones, bias as zeros.
class HEED_EXPORT LayerNorm : public Norm {
 public:
  explicit LayerNorm(int64_t width, double epsilon = 1e-5, bool with_bias = true);
  Tensor forward(const Tensor& x) const override;

  Tensor weight;
  Tensor bias;  // undefined without bias

 private:
  double epsilon_;
};

// Zhang & Sennrich 2019. weight starts as ones.
class HEED_EXPORT RmsNorm : public Norm {
 public:
  explicit RmsNorm(int64_t width, double epsilon = 1e-6);
  Tensor forward(const Tensor& x) const override;

  Tensor weight;

 private:
  double epsilon_;
};

}  // namespace heed::nn
