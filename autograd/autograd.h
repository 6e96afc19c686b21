#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/export.h"
#include "core/tensor.h"

// Reverse-mode differentiation. A differentiable function checks, infers the shape, runs the
// kernel and records; backward() walks what was recorded. docs/adding-an-op.md shows one op whole.
namespace heed {

// --- variables ---------------------------------------------------------------------------------

// Marks a leaf: backward() adds to its gradient from here on. Floating dtypes only.
HEED_EXPORT void set_requires_grad(const Tensor& tensor, bool requires_grad = true);
// True for such leaves and for everything computed from one while recording.
HEED_EXPORT bool requires_grad(const Tensor& tensor);
// The gradient a leaf has gathered; undefined when there is none yet.
HEED_EXPORT Tensor gradient(const Tensor& leaf);
HEED_EXPORT void clear_gradient(const Tensor& leaf);

// While one lives, this thread records nothing.
class HEED_EXPORT NoGradScope {
 public:
  NoGradScope();
  ~NoGradScope();
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;

 private:
  bool before_;
};
HEED_EXPORT bool recording();

// While set, the first op whose output or gradient holds inf or NaN is named in such an error.
class HEED_EXPORT NotFinite : public Error {
 public:
  using Error::Error;
};
HEED_EXPORT void set_check_finite(bool check);
HEED_EXPORT bool check_finite();

class Node;  // autograd/node.h

// --- backward ----------------------------------------------------------------------------------

// Adds d(output)/d(leaf) * cotangent to the gradient of every leaf that output depends on. The
// cotangent has output's shape and may be left out when output has one element (it is then 1).
// Frees the graph as it goes unless retain_graph. Iterative: depth costs no stack.
// Throws Error: no graph, freed graph, a saved tensor changed in place, a backward that returned a
// wrong count, shape, dtype or device.
HEED_EXPORT void backward(const Tensor& output, const Tensor& cotangent = {},
                          bool retain_graph = false);

// --- recording ---------------------------------------------------------------------------------

// A tensor kept for backward: its numbers at this version, without its graph (an op may save its
// own output without making a cycle).
class HEED_EXPORT Saved {
 public:
  Saved() = default;
  explicit Saved(const Tensor& tensor);

 private:
  friend class BackwardContext;
  Tensor tensor_;
  int64_t version_ = 0;
};

// What a backward function is given.
class HEED_EXPORT BackwardContext {
 public:
  // The cotangent of an output: never undefined, of the output's shape.
  const Tensor& cotangent(int output = 0) const {
    return (*cotangents_)[static_cast<size_t>(output)];
  }
  // Whether the gradient of this input will be used; another may be returned undefined.
  bool needs(int input) const;
  // Throws Error when the tensor was changed in place after it was saved.
  const Tensor& get(const Saved& saved) const;
  // Memory for a result like the saved tensor: its own, to be written over, where nothing else
  // needs its numbers any more, else new.
  Tensor reuse(const Saved& saved) const;
  // The gradient that this input, a leaf, has gathered so far, for a backward that adds to it in
  // place and returns the sum; undefined where there is none or it is not to be written to.
  Tensor take_gradient(int input) const;

 private:
  friend class Node;
  const Node* node_ = nullptr;
  const std::vector<Tensor>* cotangents_ = nullptr;
  bool frees_graph_ = false;
};

// One gradient for each input, in order; undefined means zero.
using Gradients = std::vector<Tensor>;
using BackwardFunction = std::function<Gradients(const BackwardContext&)>;

// Makes `output` a function of `inputs`: what follows the kernel in every differentiable function.
// Does nothing when not recording or when no input requires a gradient. Undefined inputs are
// allowed (optional arguments). `op` must outlive the graph: pass a string literal.
HEED_EXPORT Tensor record(const char* op, std::initializer_list<Tensor> inputs,
                          const Tensor& output, BackwardFunction backward);
HEED_EXPORT void record(const char* op, std::span<const Tensor> inputs,
                        std::span<const Tensor> outputs, BackwardFunction backward);

}  // namespace heed
