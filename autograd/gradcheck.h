#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/export.h"
#include "core/tensor.h"

namespace heed {

struct GradcheckOptions {
  double step = 1e-6;  // central differences: (f(x + step) - f(x - step)) / (2 step)
  double absolute_tolerance = 1e-5;
  double relative_tolerance = 1e-3;
  uint64_t seed = 1;  // of the random cotangent and of the projections
  // Inputs with more elements are checked along this many random directions instead.
  int64_t most_elements = 1000;
  int directions = 8;
};

// error: f itself threw an Error, or returned nothing that can be checked.
enum class GradcheckOutcome { passed, mismatch, not_deterministic, error };

struct GradcheckResult {
  GradcheckOutcome outcome = GradcheckOutcome::passed;
  int64_t checked = 0;        // derivatives compared
  int64_t kinks = 0;          // left out: the one-sided differences disagree there
  double worst_error = 0;     // the largest |analytic - numeric|
  double worst_relative = 0;  // the largest |analytic - numeric| / max(|analytic|, |numeric|, 1)
  // Of the worst derivative (relative to its tolerance):
  int input = -1;
  std::string index;  // "(1, 2)", or "direction 3"
  double analytic = 0;
  double numeric = 0;
  std::string message;  // one line, empty when passed
  bool passed() const { return outcome == GradcheckOutcome::passed; }
};

using GradcheckFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

// Compares the gradients that backward() gives for f with central differences, in f64, against a
// random cotangent (never a plain sum: the sum of a softmax is constant). Inputs that are floating
// must be f64 and are differentiated; i32 and boolean ones are passed through. f must return the
// same numbers each time it is called (reset its generators inside).
// Throws Error when a floating input is not f64 or none is floating.
HEED_EXPORT GradcheckResult gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                                      const GradcheckOptions& options = {});

}  // namespace heed
