#include "tests/fuzz/sample_runs.h"

#include "core/file.h"
#include "tests/support/temporary_folder.h"
#include "train/fingerprint.h"
#include "train/language_model.h"
#include "train/translator.h"

namespace heed::fuzz {
namespace {

using namespace train;

TextSide side(const std::string& tokenizer, std::vector<std::string> tokens) {
  return {data::make_tokenizer({.kind = tokenizer, .subword_size = 16, .exact = true},
                               {"a b a b", "b a"}),
          data::Vocabulary(std::move(tokens))};
}

std::string saved(Checkpoint checkpoint, int64_t step) {
  const test::TemporaryFolder folder;
  checkpoint.state.step = step;
  checkpoint.optimizer.tensors = {{"m/weight", Tensor::from_vector<float>({1, 2}, {2})}};
  save_checkpoint(folder / "checkpoint", checkpoint);
  return read_file("fuzz", folder / "checkpoint");
}

std::string translator(const std::vector<std::string>& overrides) {
  Translator model;
  model.config = parse_config("", "run", overrides);
  model.text = {side("word", {"a", "b"}), side("subword", {"\xE2\x96\x81"
                                                           "a",
                                                           "b", "\n"})};
  Generator generator(1);
  model.model = make_translation_model(model.config, model.text, generator);
  return saved(checkpoint_of(model), 10);
}

std::string language_model() {
  LanguageModel model;
  model.config = parse_config("", "run",
                              {"model.kind=causal_lm", "data.task=language_model", "model.width=2",
                               "model.heads=1", "model.layers=1", "model.context=4"});
  model.text = side("character", {"a", "b", "\n"});
  Generator generator(1);
  model.model = make_causal_lm(model.config, model.text.vocabulary.size(), generator);
  return saved(checkpoint_of(model), 20);
}

}  // namespace

std::vector<std::string> sample_checkpoints() {
  return {translator({"model.kind=rnnsearch", "model.width=2"}),
          translator({"model.kind=transformer", "model.width=2", "model.heads=1", "model.layers=1",
                      "model.tie_embeddings=true"}),
          language_model()};
}

std::string with_checksum(std::string checkpoint) {
  constexpr std::string_view key = "\"heed.checksum\":\"";
  constexpr std::string_view none = "0000000000000000";
  const size_t found = checkpoint.find(key);
  if (found == std::string::npos || checkpoint.size() - found < key.size() + none.size()) {
    return checkpoint;
  }
  checkpoint.replace(found + key.size(), none.size(), none);
  return checkpoint.replace(found + key.size(), none.size(),
                            fmt::format("{:016x}", hash_of(checkpoint)));
}

}  // namespace heed::fuzz
