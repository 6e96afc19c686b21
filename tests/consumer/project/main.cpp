// A program outside the repository: installed headers, installed libraries.
#include <fmt/core.h>

#include "core/error.h"
#include "core/random.h"
#include "core/version.h"

int main() {
  const heed::RandomState state{.seed = 7, .stream = 1, .offset = 0};
  const float first = heed::philox_uniform(state, 0);
  if (first != heed::philox_uniform(state, 0) || first < 0 || first >= 1) {
    fmt::print(stderr, "the installed random numbers are not a function of their state\n");
    return 1;
  }
  try {
    throw heed::InputError("consumer", "thrown by the consumer");
  } catch (const heed::Error& error) {
    fmt::print("heed {}: {}\n", heed::version(), error.what());
  }
  return 0;
}
