#pragma once

#include <functional>
#include <vector>

#include "autograd/gradcheck.h"
#include "core/export.h"
#include "nn/module.h"

namespace heed::nn {

// gradcheck for a layer of your own: compares the gradients of f, which runs the module on the
// inputs, with central differences, for the inputs and for every parameter. The module is f64
// (Module::convert) and draws no random numbers (an EvaluationScope would record nothing: leave
// dropout out). Afterwards its parameters are what they were, without gradients.
HEED_EXPORT GradcheckResult
gradcheck_module(const Module& module, const std::function<Tensor(const std::vector<Tensor>&)>& f,
                 const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

}  // namespace heed::nn
