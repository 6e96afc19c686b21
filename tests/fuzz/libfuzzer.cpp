#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "core/logging.h"
#include "tests/fuzz/target.h"

namespace heed::fuzz {
namespace {

// As libFuzzer's -dict wants it: a quoted word a line, every byte as \xAB.
std::string dictionary() {
  std::string text;
  for (const std::string& word : words()) {
    text += '"';
    for (const char c : word) {
      text += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    }
    text += "\"\n";
  }
  return text;
}

// --seeds FOLDER writes FOLDER/seed-N, and the words to FOLDER.dict.
void write_seeds(const std::string& folder) {
  const auto write = [](const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    demand(file.good(), "the seeds can be written");
  };
  size_t number = 0;
  for (const std::string& seed : seeds()) {
    write(fmt::format("{}/seed-{}", folder, ++number), seed);
  }
  write(folder + ".dict", dictionary());
}

}  // namespace
}  // namespace heed::fuzz

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  heed::log::set_level(heed::log::Level::error);
  if (*count == 3 && std::string_view((*arguments)[1]) == "--seeds") {
    heed::fuzz::write_seeds((*arguments)[2]);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  heed::fuzz::read({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
