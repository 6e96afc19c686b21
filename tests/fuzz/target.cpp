#include "tests/fuzz/target.h"

#include <cstdio>
#include <cstdlib>

namespace heed::fuzz {

void demand(bool holds, const char* property) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", property);
    std::abort();
  }
}

}  // namespace heed::fuzz
