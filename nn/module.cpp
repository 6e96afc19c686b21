#include "nn/module.h"

#include <set>

#include "autograd/functions/views.h"
#include "core/error.h"

namespace heed::nn {

Tensor Module::register_parameter(std::string name, const Tensor& parameter) {
  set_requires_grad(parameter);
  parameters_.push_back({std::move(name), parameter});
  return parameter;
}

void Module::replace_parameter(const Tensor& registered, const Tensor& replacement) {
  for (NamedTensor& entry : parameters_) {
    if (entry.tensor.same(registered)) {
      entry.tensor = replacement;
    }
  }
}

void Module::register_module(std::string name, Module& child) {
  children_.emplace_back(std::move(name), &child);
}

void Module::collect(const std::string& prefix, std::vector<NamedTensor>& all) const {
  for (const auto& [name, parameter] : parameters_) {
    all.push_back({prefix + name, parameter});
  }
  for (const auto& [name, child] : children_) {
    child->collect(name.empty() ? prefix : prefix + name + ".", all);
  }
}

std::vector<NamedTensor> Module::named_parameters() const {
  std::vector<NamedTensor> all;
  collect("", all);
  std::vector<NamedTensor> unique;
  std::set<const void*> seen;
  for (NamedTensor& entry : all) {
    if (seen.insert(entry.tensor.identity()).second) {
      unique.push_back(std::move(entry));
    }
  }
  return unique;
}

std::map<std::string, std::string> Module::aliases() const {
  std::vector<NamedTensor> all;
  collect("", all);
  std::map<const void*, std::string> first_name;
  std::map<std::string, std::string> result;
  for (const NamedTensor& entry : all) {
    const auto [known, fresh] = first_name.try_emplace(entry.tensor.identity(), entry.name);
    if (!fresh) {
      result[entry.name] = known->second;
    }
  }
  return result;
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const NamedTensor& entry : named_parameters()) {
    count += entry.tensor.numel();
  }
  return count;
}

void Module::load_parameters(const std::vector<NamedTensor>& tensors, const std::string& origin) {
  const auto parameters = named_parameters();
  std::map<std::string, Tensor> given;
  for (const NamedTensor& entry : tensors) {
    given[entry.name] = entry.tensor;
  }
  for (const auto& [alias, name] : aliases()) {
    given.erase(alias);  // the shared tensor is taken from its first name
  }
  std::string wrong;
  std::vector<Tensor> values;
  for (const auto& [name, parameter] : parameters) {
    const auto found = given.find(name);
    if (found == given.end()) {
      wrong += fmt::format("\n  missing     {} {}", name, parameter.shape().to_string());
      continue;
    }
    const Tensor& value = values.emplace_back(found->second);
    if (value.shape() != parameter.shape()) {
      wrong += fmt::format("\n  mis-shaped  {} is {}, {} is expected", name,
                           value.shape().to_string(), parameter.shape().to_string());
    } else if (!is_floating(value.dtype())) {
      wrong += fmt::format("\n  mis-typed   {} is {}, {} is expected", name,
                           dtype_name(value.dtype()), dtype_name(parameter.dtype()));
    }
    given.erase(found);
  }
  for (const auto& [name, tensor] : given) {
    wrong += fmt::format("\n  unexpected  {} {}", name, tensor.shape().to_string());
  }
  HEED_CHECK_INPUT(wrong.empty(), "weights", "{} does not fit this model:{}", origin, wrong);
  const NoGradScope no_grad;
  for (size_t i = 0; i < parameters.size(); ++i) {
    Tensor value = to_dtype(values[i], parameters[i].tensor.dtype());
    if (value.shares_storage(values[i])) {
      value = value.clone();
    }
    parameters[i].tensor.set_data(value);
  }
}

void Module::clear_gradients() const {
  for (const NamedTensor& entry : named_parameters()) {
    clear_gradient(entry.tensor);
  }
}

void Module::convert(DType dtype) {
  const NoGradScope no_grad;
  for (const NamedTensor& entry : named_parameters()) {
    entry.tensor.set_data(to_dtype(entry.tensor.detach(), dtype));
    clear_gradient(entry.tensor);
  }
}

void Module::collect_modes(std::vector<std::pair<Module*, bool>>& modes) {
  modes.emplace_back(this, training_);
  for (const auto& [name, child] : children_) {
    child->collect_modes(modes);
  }
}

int64_t Module::describe_into(const std::string& indent, std::string& text) const {
  int64_t total = 0;
  for (const auto& [name, parameter] : parameters_) {
    text += fmt::format("{}{} {}\n", indent, name, parameter.shape().to_string());
    total += parameter.numel();
  }
  for (const auto& [name, child] : children_) {
    std::string inner;
    const int64_t count = child->describe_into(name.empty() ? indent : indent + "  ", inner);
    if (count > 0 && !name.empty()) {
      text += fmt::format("{}{}: {} parameters\n", indent, name, count);
    }
    text += inner;
    total += count;
  }
  return total;
}

std::string Module::describe() const {
  std::string text;
  describe_into("", text);
  for (const auto& [alias, name] : aliases()) {
    text += fmt::format("{} is {}\n", alias, name);
  }
  return text + fmt::format("{} parameters\n", parameter_count());
}

EvaluationScope::EvaluationScope(Module& module) {
  module.collect_modes(before_);
  for (const auto& [part, mode] : before_) {
    part->training_ = false;
  }
}

EvaluationScope::~EvaluationScope() {
  for (const auto& [part, mode] : before_) {
    part->training_ = mode;
  }
}

}  // namespace heed::nn
