#pragma once

namespace heed::test {

// The sanitizers that keep books on memory: they have much of their own, reserve more addresses
// than any limit leaves, and end the program when there is no more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
inline constexpr bool memory_is_watched = true;
#elif defined(__has_feature)  // clang
inline constexpr bool memory_is_watched =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool memory_is_watched = false;
#endif

}  // namespace heed::test
