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

}  // namespace heed::train
