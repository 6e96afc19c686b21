#pragma once

#include <exception>

#include "core/export.h"

// How work that takes long is asked to end early: a signal handler leaves the request, the work
// looks for it between two of its parts.
namespace heed {

// Thrown by check_stop(); what the work held is left as it was before.
class HEED_EXPORT Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped on request"; }
};

HEED_EXPORT void request_stop() noexcept;  // safe in a signal handler
HEED_EXPORT void forget_stop_request() noexcept;
// Throws Stopped when a stop was asked for, and takes the request as answered.
HEED_EXPORT void check_stop();

}  // namespace heed
