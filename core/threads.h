#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

#include "core/export.h"

namespace heed {

// The cores this process may use (its affinity mask and the quotas of cgroup v2, not the machine's
// count).
HEED_EXPORT int available_cores();

// How many threads parallel_for uses, the caller's included. Starts as available_cores().
HEED_EXPORT int thread_count();
// Throws Error when count is not in [1, 4096] or the system starts no more threads; the count then
// stays what it was. Not to be called while work is running.
HEED_EXPORT void set_thread_count(int count);

namespace detail {
using RangeFunction = void (*)(void* context, int64_t begin, int64_t end);
HEED_EXPORT void parallel_for(int64_t count, int64_t grain, void* context, RangeFunction function);
}  // namespace detail

// Calls f(begin, end) for parts of [0, count), each of at least `grain` items, on the threads of
// the pool. Parts depend on (count, grain, thread_count()) alone. Called from inside a part it
// runs in place: work is never nested. An exception of a part is thrown again here.
template <typename F>
void parallel_for(int64_t count, int64_t grain, F&& f) {
  using Function = std::remove_reference_t<F>;
  detail::parallel_for(count, grain, const_cast<void*>(static_cast<const void*>(std::addressof(f))),
                       [](void* context, int64_t begin, int64_t end) {
                         (*static_cast<Function*>(context))(begin, end);
                       });
}

}  // namespace heed
