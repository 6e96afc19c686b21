#include "nn/gradcheck.h"

namespace heed::nn {

GradcheckResult gradcheck_module(const Module& module,
                                 const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                 const std::vector<Tensor>& inputs,
                                 const GradcheckOptions& options) {
  const auto parameters = module.named_parameters();
  std::vector<Tensor> originals;
  std::vector<Tensor> all = inputs;
  for (const NamedTensor& entry : parameters) {
    originals.push_back(entry.tensor.detach());
    all.push_back(entry.tensor.clone());
  }
  const auto first_parameter = std::ssize(inputs);
  GradcheckResult result = gradcheck(
      [&](const std::vector<Tensor>& leaves) {
        for (size_t i = 0; i < parameters.size(); ++i) {
          const Tensor& leaf = leaves[inputs.size() + i];
          parameters[i].tensor.set_data(leaf);
          parameters[i].tensor.set_autograd(leaf.shared_autograd());
        }
        return std::vector<Tensor>{f({leaves.begin(), leaves.begin() + first_parameter})};
      },
      all, options);
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].tensor.set_data(originals[i]);
    parameters[i].tensor.set_autograd(nullptr);
    set_requires_grad(parameters[i].tensor);
  }
  return result;
}

}  // namespace heed::nn
