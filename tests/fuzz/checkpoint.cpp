// A checkpoint, and the model it makes: the safetensors header, a NUL, then the tensors' bytes. The
// header's length and the checksum are put right, so that what lies behind them is reached.
#include "train/checkpoint.h"

#include "core/error.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/sample_runs.h"
#include "tests/fuzz/target.h"
#include "tests/support/protocol_buffer.h"
#include "train/language_model.h"
#include "train/translator.h"

namespace heed::fuzz {
namespace {

using namespace train;

constexpr size_t length_bytes = 8;

std::string checkpoint_from(std::string_view input) {
  const std::string_view header = input.substr(0, input.find('\0'));
  const std::string_view data = input.substr(std::min(header.size() + 1, input.size()));
  std::string bytes = test::little_endian(static_cast<uint32_t>(header.size())) +
                      std::string(length_bytes / 2, '\0');
  return with_checksum(bytes.append(header).append(data));
}

}  // namespace

void read(std::string_view input) {
  static const MemoryFile file;
  file.hold(checkpoint_from(input));
  try {
    const Checkpoint checkpoint = load_checkpoint(file.path());
    if (checkpoint.config.data.task == "language_model") {
      restore_language_model(checkpoint).model->describe();
    } else {
      restore_translator(checkpoint).model->describe();
    }
  } catch (const InputError&) {
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const std::string& checkpoint : sample_checkpoints()) {
    const size_t header = static_cast<unsigned char>(checkpoint[0]) |
                          static_cast<size_t>(static_cast<unsigned char>(checkpoint[1])) << 8;
    all.push_back(checkpoint.substr(length_bytes, header) + '\0' +
                  checkpoint.substr(length_bytes + header));
    demand(checkpoint_from(all.back()) == checkpoint, "a seed is a checkpoint");
  }
  return all;
}

std::vector<std::string> words() {
  return {"\"heed.config\":\"",
          "[model]\\nwidth = 65536\\n",
          "layers = 1000\\n",
          "kind = \\\"causal_lm\\\"\\n",
          "context = 1000000\\n",
          "\"heed.text.tokenizer\":\"",
          "\"heed.source.vocabulary\":\"",
          "subword lower\\n",
          "character as-is\\n",
          "\\\"step\\\":1e300",
          "\\\"position\\\":-5",
          "\\\"skipped_in_a_row\\\":1e300",
          "\\\"steps_an_epoch\\\":0",
          "\\\"epoch_random\\\":[1,2,-3]",
          "\"heed.aliases\":\"{}\"",
          "optimizer/",
          "\"shape\":[0]",
          "\"dtype\":\"F64\"",
          "18446744073709551615"};
}

}  // namespace heed::fuzz
