#include <queue>
#include <unordered_map>

#include "autograd/node.h"
#include "core/error.h"
#include "kernels/backend.h"

namespace heed {
namespace {

// a + b, in the memory of whichever nobody else sees.
Tensor accumulate(Tensor a, Tensor b) {
  if (!a.exclusive() || !a.is_contiguous()) {
    std::swap(a, b);
  }
  const Tensor total =
      a.exclusive() && a.is_contiguous() ? a : Tensor::empty(a.shape(), a.dtype(), a.device());
  kernels::backend(a).binary(kernels::BinaryOp::add, a, b, total);
  return total;
}

// A leaf's gradient is its own: what is later added to it in place must reach nothing else.
Tensor own(Tensor gradient) {
  if (gradient.exclusive() && gradient.is_contiguous()) {
    return gradient;
  }
  const Tensor copy = Tensor::empty(gradient.shape(), gradient.dtype(), gradient.device());
  kernels::backend(gradient).copy(gradient, copy);
  return copy;
}

void add_to_leaf(Variable& leaf, Tensor gradient) {
  leaf.grad = leaf.grad.defined() ? accumulate(std::move(leaf.grad), std::move(gradient))
                                  : own(std::move(gradient));
}

// The nodes that have cotangents but have not run yet, latest recorded first. Every consumer of a
// node was recorded after it, so by the time a node is taken all its cotangents have arrived.
class Pending {
 public:
  void add(const std::shared_ptr<Node>& node, int output, Tensor cotangent) {
    auto [entry, fresh] = cotangents_.try_emplace(node.get());
    if (fresh) {
      node->check_not_freed();
      entry->second.resize(static_cast<size_t>(node->outputs()));
      order_.emplace(node->sequence(), node);
    }
    Tensor& sum = entry->second[static_cast<size_t>(output)];
    sum = sum.defined() ? accumulate(std::move(sum), std::move(cotangent)) : std::move(cotangent);
  }

  bool empty() const { return order_.empty(); }

  std::pair<std::shared_ptr<Node>, std::vector<Tensor>> take_latest() {
    std::shared_ptr<Node> node = order_.top().second;
    order_.pop();
    const auto entry = cotangents_.find(node.get());
    std::vector<Tensor> cotangents = std::move(entry->second);
    cotangents_.erase(entry);
    return {std::move(node), std::move(cotangents)};
  }

 private:
  std::unordered_map<const Node*, std::vector<Tensor>> cotangents_;
  std::priority_queue<std::pair<int64_t, std::shared_ptr<Node>>> order_;
};

Tensor initial_cotangent(const Tensor& output, const Tensor& cotangent) {
  if (!cotangent.defined()) {
    HEED_CHECK(output.numel() == 1, "backward",
               "an output of shape {} needs a cotangent; only one element does without",
               output.shape().to_string());
    return Tensor::full(output.shape(), 1.0, output.dtype(), output.device());
  }
  HEED_CHECK(cotangent.shape() == output.shape() && cotangent.dtype() == output.dtype() &&
                 cotangent.device() == output.device(),
             "backward", "the cotangent does not match the output: {} {} and {} {}",
             dtype_name(cotangent.dtype()), cotangent.shape().to_string(),
             dtype_name(output.dtype()), output.shape().to_string());
  return cotangent.detach();
}

}  // namespace

void backward(const Tensor& output, const Tensor& cotangent, bool retain_graph) {
  const auto root = variable_of(output);
  HEED_CHECK(root != nullptr, "backward",
             "the output {} depends on nothing that requires a gradient",
             output.shape().to_string());
  const NoGradScope no_grad;
  Tensor start = initial_cotangent(output, cotangent);
  if (root->producer == nullptr) {
    add_to_leaf(*root, std::move(start));
    return;
  }
  Pending pending;
  pending.add(root->producer, root->output, std::move(start));
  while (!pending.empty()) {
    auto [node, cotangents] = pending.take_latest();
    Gradients gradients = node->run(cotangents, !retain_graph);
    cotangents.clear();
    for (size_t i = 0; i < gradients.size(); ++i) {
      const auto& input = node->inputs()[i];
      if (input == nullptr || !gradients[i].defined()) {
        continue;
      }
      if (input->producer == nullptr) {
        add_to_leaf(*input, std::move(gradients[i]));
      } else {
        pending.add(input->producer, input->output, std::move(gradients[i]));
      }
    }
    if (!retain_graph) {
      node->free();
    }
  }
}

}  // namespace heed
