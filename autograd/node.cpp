#include "autograd/node.h"

#include <atomic>
#include <utility>

#include "core/error.h"
#include "kernels/backend.h"

namespace heed {
namespace {

thread_local bool recording_now = true;
std::atomic<bool> check_finite_now{false};
std::atomic<int64_t> next_sequence{0};

TensorMeta meta_of(const Tensor& tensor) {
  return tensor.defined() ? TensorMeta{tensor.shape(), tensor.dtype(), tensor.device()}
                          : TensorMeta{};
}

void require_finite(const char* op, std::string_view what, int number, const Tensor& tensor) {
  if (!tensor.defined() || !is_floating(tensor.dtype())) {
    return;
  }
  const Tensor finite = Tensor::empty({1}, DType::boolean, tensor.device());
  kernels::backend(tensor).all_finite(tensor, finite);
  if (finite.item() == 0) {
    throw NotFinite("check_finite", fmt::format("{} made inf or NaN: {} {} {}", op, what, number,
                                                tensor.shape().to_string()));
  }
}

}  // namespace

bool recording() { return recording_now; }
NoGradScope::NoGradScope() : before_(recording_now) { recording_now = false; }
NoGradScope::~NoGradScope() { recording_now = before_; }

void set_check_finite(bool check) { check_finite_now = check; }
bool check_finite() { return check_finite_now; }

Variable::~Variable() {
  if (producer == nullptr) {
    return;
  }
  // The first destructor on this thread drains the queue; those it sets off only add to it. What
  // outlives the call is a plain pointer, so that tensors of static lifetime, destroyed after the
  // thread's own objects, may come here too.
  thread_local std::vector<std::shared_ptr<Node>>* draining = nullptr;
  if (draining != nullptr) {
    draining->push_back(std::move(producer));
    return;
  }
  std::vector<std::shared_ptr<Node>> queue;
  draining = &queue;
  producer.reset();
  while (!queue.empty()) {
    const std::shared_ptr<Node> node = std::move(queue.back());
    queue.pop_back();
  }
  draining = nullptr;
}

std::shared_ptr<Variable> variable_of(const Tensor& tensor) {
  if (!tensor.defined() || tensor.autograd() == nullptr) {
    return nullptr;
  }
  auto variable = std::static_pointer_cast<Variable>(tensor.shared_autograd());
  return variable->requires_grad ? variable : nullptr;
}

void set_requires_grad(const Tensor& tensor, bool requires_grad) {
  HEED_CHECK(is_floating(tensor.dtype()), "requires_grad",
             "only f32 and f64 tensors have gradients, this one is {} {}",
             dtype_name(tensor.dtype()), tensor.shape().to_string());
  auto* variable = static_cast<Variable*>(tensor.autograd());
  HEED_CHECK(variable == nullptr || variable->producer == nullptr, "requires_grad",
             "the tensor {} was computed by {}; only leaves can be marked",
             tensor.shape().to_string(), variable->producer->op());
  if (variable == nullptr) {
    if (!requires_grad) {
      return;
    }
    tensor.set_autograd(std::make_shared<Variable>());
    return;
  }
  variable->requires_grad = requires_grad;
}

bool requires_grad(const Tensor& tensor) { return variable_of(tensor) != nullptr; }

Tensor gradient(const Tensor& leaf) {
  const auto* variable = static_cast<const Variable*>(leaf.autograd());
  return variable == nullptr ? Tensor() : variable->grad;
}

void clear_gradient(const Tensor& leaf) {
  if (auto* variable = static_cast<Variable*>(leaf.autograd())) {
    variable->grad = Tensor();
  }
}

Saved::Saved(const Tensor& tensor)
    : tensor_(tensor.defined() ? tensor.detach() : Tensor()),
      version_(tensor.defined() ? tensor.version() : 0) {}

const Tensor& BackwardContext::get(const Saved& saved) const {
  const Tensor& tensor = saved.tensor_;
  HEED_CHECK(!tensor.defined() || tensor.version() == saved.version_, node_->op(),
             "a tensor saved for backward was changed in place: {} {}, version {} then, {} now",
             dtype_name(tensor.dtype()), tensor.shape().to_string(), saved.version_,
             tensor.version());
  return tensor;
}

Tensor BackwardContext::reuse(const Saved& saved) const {
  const Tensor& tensor = get(saved);
  return frees_graph_ && tensor.exclusive()
             ? tensor
             : Tensor::empty(tensor.shape(), tensor.dtype(), tensor.device());
}

bool BackwardContext::needs(int input) const {
  return node_->inputs()[static_cast<size_t>(input)] != nullptr;
}

Tensor BackwardContext::take_gradient(int input) const {
  Variable& variable = *node_->inputs()[static_cast<size_t>(input)];
  const bool ours = variable.producer == nullptr && variable.grad.defined() &&
                    variable.grad.exclusive() && variable.grad.is_contiguous();
  return ours ? std::exchange(variable.grad, Tensor()) : Tensor();
}

Node::Node(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
           BackwardFunction backward)
    : op_(op), sequence_(next_sequence++), backward_(std::move(backward)) {
  for (const Tensor& input : inputs) {
    inputs_.push_back(variable_of(input));
    input_meta_.push_back(meta_of(input));
  }
  for (const Tensor& output : outputs) {
    output_meta_.push_back(meta_of(output));
  }
}

void Node::check_not_freed() const {
  HEED_CHECK(!freed_, "backward",
             "the graph of {} {} was freed by an earlier backward; compute it again, or pass "
             "retain_graph to the first",
             op_, output_meta_.front().shape.to_string());
}

void Node::free() {
  freed_ = true;
  inputs_.clear();
  backward_ = nullptr;
}

Gradients Node::run(std::vector<Tensor>& cotangents, bool frees_graph) const {
  for (int i = 0; i < outputs(); ++i) {
    Tensor& cotangent = cotangents[static_cast<size_t>(i)];
    if (!cotangent.defined()) {
      const TensorMeta& meta = output_meta(i);
      cotangent = Tensor::zeros(meta.shape, meta.dtype, meta.device);
    }
  }
  BackwardContext context;
  context.node_ = this;
  context.cotangents_ = &cotangents;
  context.frees_graph_ = frees_graph;
  Gradients gradients = backward_(context);
  HEED_CHECK(gradients.size() == inputs_.size(), op_,
             "backward returned {} gradients for {} inputs", gradients.size(), inputs_.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& gradient = gradients[i];
    if (!gradient.defined() || inputs_[i] == nullptr) {
      continue;
    }
    const TensorMeta& meta = input_meta_[i];
    HEED_CHECK(gradient.shape() == meta.shape, op_,
               "backward returned a gradient of shape {} for input {} of shape {}",
               gradient.shape().to_string(), i, meta.shape.to_string());
    HEED_CHECK(gradient.dtype() == meta.dtype, op_,
               "backward returned a gradient of dtype {} for input {} of dtype {}",
               dtype_name(gradient.dtype()), i, dtype_name(meta.dtype));
    HEED_CHECK(gradient.device() == meta.device, op_,
               "backward returned a gradient on {} for input {} on {}",
               device_name(gradient.device()), i, device_name(meta.device));
    if (check_finite()) {
      require_finite(op_, "in backward, the gradient of input", static_cast<int>(i), gradient);
    }
  }
  return gradients;
}

void record(const char* op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
            BackwardFunction backward) {
  if (check_finite()) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      require_finite(op, "output", static_cast<int>(i), outputs[i]);
    }
  }
  bool needed = false;
  for (const Tensor& input : inputs) {
    needed = needed || requires_grad(input);
  }
  if (!needed || !recording()) {
    return;
  }
  const auto node = std::make_shared<Node>(op, inputs, outputs, std::move(backward));
  for (size_t i = 0; i < outputs.size(); ++i) {
    HEED_ASSERT(outputs[i].autograd() == nullptr, "{}: output {} is recorded already", op, i);
    outputs[i].set_autograd(std::make_shared<Variable>(node, static_cast<int>(i)));
  }
}

Tensor record(const char* op, std::initializer_list<Tensor> inputs, const Tensor& output,
              BackwardFunction backward) {
  record(op, std::span<const Tensor>(inputs.begin(), inputs.size()),
         std::span<const Tensor>(&output, 1), std::move(backward));
  return output;
}

}  // namespace heed
