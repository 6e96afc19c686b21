#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "core/error.h"
#include "core/random.h"
#include "train/checkpoint.h"
#include "train/translator.h"

// What a damaged disk or a cut transfer makes of a checkpoint is never taken for one.
// HEED_EVERY_BIT=1 flips each bit in turn instead of 10,000 random ones.
namespace heed::train {
namespace {

std::string small_checkpoint() {
  Translator translator;
  translator.config = parse_config(
      "", "small", {"data.train=grammar:20:3-6", "model.width=2", "data.validation=none"});
  translator.text =
      build_text(translator.config,
                 load_corpus(translator.config, translator.config.data.train, data::Split::train));
  Generator generator(3);
  translator.model = make_translation_model(translator.config, translator.text, generator);
  return encode_checkpoint(checkpoint_of(translator));
}

bool refused(const std::string& bytes) {
  try {
    decode_checkpoint(bytes, "small");
    return false;
  } catch (const InputError&) {
    return true;
  }
}

TEST(DamagedCheckpoint, WithAnyBitFlippedIsRefused) {
  std::string bytes = small_checkpoint();
  ASSERT_FALSE(refused(bytes));
  const size_t bits = bytes.size() * 8;
  const bool every = std::getenv("HEED_EVERY_BIT") != nullptr;
  std::mt19937_64 random(5);
  for (size_t i = 0; i < (every ? bits : 10'000); ++i) {
    const size_t bit = every ? i : random() % bits;
    const auto flip = static_cast<char>(1 << bit % 8);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flip);
    ASSERT_TRUE(refused(bytes)) << "bit " << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flip);
  }
}

TEST(DamagedCheckpoint, CutAnywhereIsRefused) {
  const std::string bytes = small_checkpoint();
  for (size_t size = 0; size < bytes.size(); size += size < 1000 ? 1 : 37) {
    ASSERT_TRUE(refused(bytes.substr(0, size))) << size;
  }
  EXPECT_TRUE(refused(bytes + '\0'));
}

}  // namespace
}  // namespace heed::train
