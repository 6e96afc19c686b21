#include "core/interrupt.h"

#include <atomic>

namespace heed {
namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

}  // namespace

void request_stop() noexcept { requested = true; }
void forget_stop_request() noexcept { requested = false; }

void check_stop() {
  if (requested.exchange(false)) {
    throw Stopped();
  }
}

}  // namespace heed
