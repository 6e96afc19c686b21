#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"
#include "data/text_file.h"
#include "data/tokenizer.h"
#include "data/vocabulary.h"
#include "train/config/config.h"

namespace heed::train {

// Tokenizers and vocabularies as a checkpoint holds them: "source.vocabulary" -> any bytes.
using TextState = std::map<std::string, std::string>;

// One language: its tokenizer and its vocabulary.
struct HEED_EXPORT TextSide {
  std::unique_ptr<data::Tokenizer> tokenizer;
  data::Vocabulary vocabulary;

  std::vector<std::string> encode_pieces(std::string_view text) const {
    return tokenizer->encode(text);
  }
  std::vector<int32_t> encode(std::string_view text) const {
    return vocabulary.encode(encode_pieces(text));
  }

  // Into the entries NAME.tokenizer and NAME.vocabulary.
  void save(TextState& state, const std::string& name) const;
  // Throws InputError naming `origin` when they are not there.
  static TextSide restore(const TextState& state, const std::string& name,
                          const std::string& origin);
};

// Throws InputError when no token of `name` came into the vocabulary.
void check_vocabulary(const TextSide& side, const DataConfig& data, const std::string& name);

data::InvalidUtf8 invalid_utf8_policy(const DataConfig& data);

}  // namespace heed::train
