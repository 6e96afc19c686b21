#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/autograd.h"
#include "core/export.h"
#include "core/safetensors.h"
#include "core/tensor.h"

namespace heed::nn {

// A part of a network: parameters and children, registered by name. Full names are dotted
// ("encoder.gru.weight_ih_l0") and layouts are PyTorch's, so that weights travel both ways.
// Modules are registered by address and therefore neither copied nor moved.
class HEED_EXPORT Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // In the order of registration; a parameter shared by several modules (tied weights) appears
  // once, under its first name.
  std::vector<NamedTensor> named_parameters() const;
  // The other names of shared parameters, each with the name it is listed under.
  std::map<std::string, std::string> aliases() const;
  int64_t parameter_count() const;

  // Takes the values of all parameters from `tensors`, by name (the last of equal names). All
  // missing, unexpected, mis-shaped and mis-typed ones (neither f32 nor f64) are reported in one
  // InputError; nothing is changed then. `origin` is what the message calls the source (a path).
  void load_parameters(const std::vector<NamedTensor>& tensors, const std::string& origin);
  void clear_gradients() const;
  // Turns every parameter into another dtype.
  void convert(DType dtype);

  bool training() const { return training_; }
  // The tree with shapes and parameter counts, one line a module or parameter; modules without
  // parameters are left out.
  std::string describe() const;

 protected:
  // Marks the tensor as requiring a gradient and returns it.
  Tensor register_parameter(std::string name, const Tensor& parameter);
  // Puts another tensor in the place of a registered one (tied weights).
  void replace_parameter(const Tensor& registered, const Tensor& replacement);
  // The parameters of a child without name are named as this module's own.
  void register_module(std::string name, Module& child);

 private:
  friend class EvaluationScope;
  // This module and all below it, each with its mode.
  void collect_modes(std::vector<std::pair<Module*, bool>>& modes);
  void collect(const std::string& prefix, std::vector<NamedTensor>& all) const;
  int64_t describe_into(const std::string& indent, std::string& text) const;

  std::vector<NamedTensor> parameters_;
  std::vector<std::pair<std::string, Module*>> children_;
  bool training_ = true;
};

// While one lives, the module and all below it are in evaluation mode (no dropout) and nothing is
// recorded; at the end, however that is reached, each is in the mode it was in before.
class HEED_EXPORT EvaluationScope {
 public:
  explicit EvaluationScope(Module& module);
  ~EvaluationScope();
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> before_;
  NoGradScope no_grad_;
};

}  // namespace heed::nn
