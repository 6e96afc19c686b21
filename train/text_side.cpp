#include "train/text_side.h"

#include "core/error.h"

namespace heed::train {

void TextSide::save(TextState& state, const std::string& name) const {
  state[name + ".tokenizer"] = tokenizer->state();
  state[name + ".vocabulary"] = vocabulary.state();
}

TextSide TextSide::restore(const TextState& state, const std::string& name,
                           const std::string& origin) {
  const auto entry = [&](const std::string& part) -> const std::string& {
    const auto found = state.find(name + part);
    HEED_CHECK_INPUT(found != state.end(), "checkpoint", "{}: heed.{}{} is missing", origin, name,
                     part);
    return found->second;
  };
  return {data::restore_tokenizer(entry(".tokenizer")),
          data::Vocabulary::restore(entry(".vocabulary"))};
}

void check_vocabulary(const TextSide& side, const DataConfig& data, const std::string& name) {
  const int64_t special = data::Vocabulary::special_count;
  HEED_CHECK_INPUT(data.max_vocabulary == 0 || data.max_vocabulary > special, "data",
                   "data.max_vocabulary = {} leaves no room beside the {} special tokens; raise it",
                   data.max_vocabulary, special);
  HEED_CHECK_INPUT(
      side.vocabulary.size() > special, "data",
      "{}: no token comes data.min_count = {} times, so the vocabulary is empty; lower "
      "data.min_count",
      name, data.min_count);
}

data::InvalidUtf8 invalid_utf8_policy(const DataConfig& data) {
  return data.invalid_utf8 == "replace" ? data::InvalidUtf8::replace : data::InvalidUtf8::error;
}

}  // namespace heed::train
