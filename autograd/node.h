#pragma once

#include <memory>
#include <vector>

#include "autograd/autograd.h"

// The recorded graph. Internal to the autograd room.
namespace heed {

class Node;

// What hangs on a tensor that takes part in differentiation. A leaf has no producer and gathers a
// gradient; anything else points at the node that made it.
class Variable final : public AutogradRecord {
 public:
  Variable() = default;
  Variable(std::shared_ptr<Node> node, int output_index)
      : producer(std::move(node)), output(output_index) {}
  // Hands the producer to a queue instead of letting destructors recurse along the graph.
  ~Variable() override;
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  std::shared_ptr<Node> producer;
  int output = 0;
  bool requires_grad = true;
  Tensor grad;
};

// The variable of a tensor that requires a gradient, or nothing.
std::shared_ptr<Variable> variable_of(const Tensor& tensor);

struct TensorMeta {
  Shape shape;
  DType dtype = DType::f32;
  Device device;
};

// One recorded op: who its inputs were and how to get their gradients.
class Node {
 public:
  Node(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
       BackwardFunction backward);

  const char* op() const { return op_; }
  // Nodes count up as they are recorded, so every consumer of a node has a larger number.
  int64_t sequence() const { return sequence_; }
  int outputs() const { return static_cast<int>(output_meta_.size()); }
  const TensorMeta& output_meta(int i) const { return output_meta_[static_cast<size_t>(i)]; }
  const std::vector<std::shared_ptr<Variable>>& inputs() const { return inputs_; }

  // Fills undefined cotangents with zeros, runs the op's backward and checks what comes back.
  // frees_graph: nobody will run it again.
  Gradients run(std::vector<Tensor>& cotangents, bool frees_graph) const;
  // Throws Error when an earlier backward freed this node.
  void check_not_freed() const;
  void free();

 private:
  const char* op_;
  int64_t sequence_;
  std::vector<std::shared_ptr<Variable>> inputs_;  // null where no gradient is needed
  std::vector<TensorMeta> input_meta_;
  std::vector<TensorMeta> output_meta_;
  BackwardFunction backward_;
  bool freed_ = false;
};

}  // namespace heed
