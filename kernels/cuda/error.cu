#include "kernels/cuda/error.h"

#include <string_view>

#include "core/error.h"

namespace heed::kernels::cuda {

void throw_failure(const char* reason, const char* call, const char* file, int line) {
  // A card that failed once fails in every later call: the first message is the one to read.
  const std::string_view path = file;
  const size_t room = path.rfind("kernels/");
  throw Error("cuda", fmt::format("{}: {} ({}:{})", reason, call,
                                  room == std::string_view::npos ? path : path.substr(room), line));
}

}  // namespace heed::kernels::cuda
