#include "autograd/gradcheck.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "autograd/autograd.h"
#include "core/error.h"
#include "core/random.h"

namespace heed {
namespace {

using Values = std::vector<double>;

std::string index_text(const Shape& shape, size_t position) {
  Shape index = Shape::filled(shape.rank(), 0);
  auto rest = static_cast<int64_t>(position);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = rest % shape[d];
    rest /= shape[d];
  }
  return index.to_string();
}

void check_all_f64(const std::vector<Tensor>& tensors, std::string_view what) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    HEED_CHECK(tensor.defined(), "gradcheck", "{} {} is undefined", what, i);
    HEED_CHECK(tensor.dtype() != DType::f32, "gradcheck", "differences need f64, {} {} is f32 {}",
               what, i, tensor.shape().to_string());
  }
}

std::vector<Values> values_of(const std::vector<Tensor>& outputs) {
  std::vector<Values> values;
  for (const Tensor& output : outputs) {
    values.push_back(output.to_doubles());
  }
  return values;
}

// What stays fixed while single numbers of the inputs move.
class Problem {
 public:
  Problem(const GradcheckFunction& f, const std::vector<Tensor>& inputs, uint64_t seed)
      : f_(f), inputs_(inputs), point_(values_of(inputs)), generator_(seed) {}

  // The gradient of sum over outputs of <cotangent, output>; undefined where it is zero.
  std::vector<Tensor> analytic() {
    const std::vector<Tensor> leaves = tensors_at(point_);
    for (const Tensor& leaf : leaves) {
      if (is_floating(leaf.dtype())) {
        set_requires_grad(leaf);
      }
    }
    const std::vector<Tensor> outputs = f_(leaves);
    HEED_CHECK(!outputs.empty(), "gradcheck", "the function returns no output");
    check_all_f64(outputs, "output");
    base_ = values_of(outputs);
    std::vector<Tensor> cotangents;
    for (const Tensor& output : outputs) {
      weights_.push_back(random_weights(output));
      shapes_.push_back(output.shape());
      cotangents.push_back(
          weights_.back().empty()
              ? Tensor()
              : Tensor::from_vector(weights_.back(), output.shape(), output.device()));
    }
    // One node over all outputs sends each its cotangent in a single backward.
    const Tensor total = Tensor::zeros({}, DType::f64, outputs.front().device());
    record("gradcheck", outputs, std::span<const Tensor>(&total, 1),
           [cotangents](const BackwardContext&) { return cotangents; });
    if (requires_grad(total)) {
      backward(total);
    }
    std::vector<Tensor> gradients;
    for (const Tensor& leaf : leaves) {
      gradients.push_back(gradient(leaf));
    }
    return gradients;
  }

  // Says where a second call differs in a single bit from the first.
  std::optional<std::string> difference_of_second_call() const {
    const std::vector<Values> again = evaluate(point_);
    for (size_t k = 0; k < base_.size(); ++k) {
      if (k >= again.size() || again[k].size() != base_[k].size()) {
        return fmt::format("output {} has another size", k);
      }
      for (size_t i = 0; i < base_[k].size(); ++i) {
        if (std::bit_cast<uint64_t>(base_[k][i]) != std::bit_cast<uint64_t>(again[k][i])) {
          return fmt::format("output {} at {} is {}, then {}", k, index_text(shapes_[k], i),
                             base_[k][i], again[k][i]);
        }
      }
    }
    return std::nullopt;
  }

  struct Slopes {
    double left, right, central;
    double gap() const { return std::abs(right - left); }
  };

  // Moves input `input` by step * direction to both sides.
  Slopes slopes(size_t input, const Values& direction, double step) const {
    const auto moved = [&](double by) {
      std::vector<Values> point = point_;
      for (size_t i = 0; i < direction.size(); ++i) {
        point[input][i] += by * direction[i];
      }
      return evaluate(point);
    };
    const std::vector<Values> after = moved(step);
    const std::vector<Values> before = moved(-step);
    return {projected(base_, before) / step, projected(after, base_) / step,
            projected(after, before) / (2 * step)};
  }
  Slopes slopes(size_t input, size_t position, double step) const {
    Values direction(point_[input].size(), 0.0);
    direction[position] = 1;
    return slopes(input, direction, step);
  }

  Values random_direction(size_t size) {
    Values direction(size);
    for (double& value : direction) {
      value = generator_.normal();
    }
    return direction;
  }

 private:
  std::vector<Tensor> tensors_at(const std::vector<Values>& point) const {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor& input = inputs_[i];
      tensors.push_back(input.dtype() == DType::f64
                            ? Tensor::from_vector(point[i], input.shape(), input.device())
                            : input);
    }
    return tensors;
  }

  std::vector<Values> evaluate(const std::vector<Values>& point) const {
    const NoGradScope no_grad;
    return values_of(f_(tensors_at(point)));
  }

  // Of the random cotangent; every entry counts: its absolute value lies in [0.5, 1.5).
  Values random_weights(const Tensor& output) {
    Values weights(is_floating(output.dtype()) ? static_cast<size_t>(output.numel()) : 0);
    for (double& weight : weights) {
      weight = (0.5 + generator_.uniform()) * (generator_.below(2) == 0 ? 1 : -1);
    }
    return weights;
  }

  // Differences first, products after: equal outputs cancel exactly, infinite ones too.
  double projected(const std::vector<Values>& after, const std::vector<Values>& before) const {
    double total = 0;
    for (size_t k = 0; k < weights_.size(); ++k) {
      for (size_t i = 0; i < weights_[k].size(); ++i) {
        total += after[k][i] == before[k][i] ? 0 : weights_[k][i] * (after[k][i] - before[k][i]);
      }
    }
    return total;
  }

  const GradcheckFunction& f_;
  const std::vector<Tensor>& inputs_;
  std::vector<Values> point_;
  Generator generator_;
  std::vector<Values> base_;
  std::vector<Shape> shapes_;
  std::vector<Values> weights_;
};

class Comparison {
 public:
  explicit Comparison(const GradcheckOptions& options) : options_(options) {}

  // slopes(step) measures along the direction whose analytic derivative is given.
  template <typename F>
  void compare(int input, const std::string& index, double analytic, F&& slopes) {
    const Slopes at_step = slopes(options_.step);
    if (is_kink(at_step, slopes) && lies_between(analytic, at_step)) {
      ++result_.kinks;
      return;
    }
    ++result_.checked;
    const double numeric = at_step.central;
    const double error = finite_or_infinity(std::abs(analytic - numeric));
    const double size = std::max({std::abs(analytic), std::abs(numeric), 1.0});
    result_.worst_error = std::max(result_.worst_error, error);
    result_.worst_relative =
        std::max(result_.worst_relative, std::isinf(error) ? error : error / size);
    const double excess = std::isinf(error) ? error : error / allowed(numeric);
    if (excess > worst_excess_ || result_.input < 0) {
      worst_excess_ = excess;
      result_.input = input;
      result_.index = index;
      result_.analytic = analytic;
      result_.numeric = numeric;
    }
    mismatches_ += excess > 1 ? 1 : 0;
  }

  GradcheckResult finish() {
    if (mismatches_ > 0) {
      const double error = std::abs(result_.analytic - result_.numeric);
      result_.outcome = GradcheckOutcome::mismatch;
      result_.message = fmt::format(
          "input {} at {}: analytic {:.6g}, numeric {:.6g}, error {:.3g} (allowed {:g} + {:g} * "
          "|numeric|), relative {:.3g}; {} of {} derivatives differ",
          result_.input, result_.index, result_.analytic, result_.numeric, error,
          options_.absolute_tolerance, options_.relative_tolerance,
          error / std::max(std::abs(result_.analytic), std::abs(result_.numeric)), mismatches_,
          result_.checked);
    }
    return result_;
  }

 private:
  using Slopes = Problem::Slopes;

  double allowed(double numeric) const {
    return options_.absolute_tolerance + options_.relative_tolerance * std::abs(numeric);
  }

  static double finite_or_infinity(double error) {
    return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
  }

  // The one-sided differences of a smooth function differ in proportion to the step; at a kink the
  // gap stays, and beside one it vanishes before that.
  template <typename F>
  bool is_kink(const Slopes& at_step, F&& slopes) const {
    if (!(at_step.gap() > allowed(at_step.central))) {
      return false;
    }
    constexpr double shrink = 0.25;
    const double shrunk = slopes(shrink * options_.step).gap() / at_step.gap();
    return std::abs(shrunk - shrink) > 0.2 * shrink;
  }

  // A gradient outside of what both sides give is wrong, kink or not.
  bool lies_between(double analytic, const Slopes& at_step) const {
    const double slack = allowed(std::max(std::abs(at_step.left), std::abs(at_step.right)));
    return analytic >= std::min(at_step.left, at_step.right) - slack &&
           analytic <= std::max(at_step.left, at_step.right) + slack;
  }

  const GradcheckOptions& options_;
  GradcheckResult result_;
  double worst_excess_ = 0;
  int64_t mismatches_ = 0;
};

GradcheckResult compare_all(Problem& problem, const std::vector<Tensor>& inputs,
                            const GradcheckOptions& options) {
  const std::vector<Tensor> gradients = problem.analytic();
  if (const auto difference = problem.difference_of_second_call()) {
    GradcheckResult result;
    result.outcome = GradcheckOutcome::not_deterministic;
    result.message =
        "two calls give different numbers (reset generators inside the function): " + *difference;
    return result;
  }
  Comparison comparison(options);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto count = static_cast<size_t>(inputs[i].numel());
    if (!is_floating(inputs[i].dtype()) || count == 0) {
      continue;
    }
    const Values analytic = gradients[i].defined() ? gradients[i].to_doubles() : Values(count, 0.0);
    const auto input = static_cast<int>(i);
    if (inputs[i].numel() <= options.most_elements) {
      for (size_t position = 0; position < count; ++position) {
        comparison.compare(input, index_text(inputs[i].shape(), position), analytic[position],
                           [&](double step) { return problem.slopes(i, position, step); });
      }
      continue;
    }
    for (int d = 0; d < options.directions; ++d) {
      const Values direction = problem.random_direction(count);
      const double along =
          std::inner_product(analytic.begin(), analytic.end(), direction.begin(), 0.0);
      comparison.compare(input, fmt::format("direction {}", d), along,
                         [&](double step) { return problem.slopes(i, direction, step); });
    }
  }
  return comparison.finish();
}

}  // namespace

GradcheckResult gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  check_all_f64(inputs, "input");
  HEED_CHECK(std::any_of(inputs.begin(), inputs.end(),
                         [](const Tensor& input) { return is_floating(input.dtype()); }),
             "gradcheck", "no input is f64, there is nothing to differentiate");
  Problem problem(f, inputs, options.seed);
  try {
    return compare_all(problem, inputs, options);
  } catch (const Error& error) {
    GradcheckResult result;
    result.outcome = GradcheckOutcome::error;
    result.message = error.what();
    return result;
  }
}

}  // namespace heed
