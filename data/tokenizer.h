#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"

namespace heed::data {

struct TokenizerOptions {
  std::string kind = "word";  // word, space, character or subword
  bool lowercase = false;
  int64_t subword_size = 8000;  // pieces of a SentencePiece model trained on the training text
  int64_t subword_sample = int64_t{16} << 20;  // bytes of the text that are learned from, about
  bool exact = false;  // subword: every space and code point is kept as it is
};

// Text to pieces and back. A trained one travels in the checkpoint as its state.
class HEED_EXPORT Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<std::string> encode(std::string_view text) const = 0;
  virtual std::string decode(const std::vector<std::string>& pieces) const = 0;
  // All that restore_tokenizer needs; may hold any bytes.
  virtual std::string state() const = 0;
  // How many pieces there are when the tokenizer itself fixes them (subword), else 0.
  virtual int64_t piece_count() const { return 0; }
};

// word: maximal runs of `\w` and single other non-spaces (`\w+|[^\w\s]`), Unicode classes; decode
// joins by spaces but for punctuation. space: what stands between spaces. character: code points.
// subword: SentencePiece unigram pieces (Kudo 2018), trained on `texts`, which messages call
// `name`; when they are too small for subword_size pieces, fewer are made, saying so. Throws
// InputError for an unknown kind.
HEED_EXPORT std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options,
                                                      const std::vector<std::string>& texts,
                                                      const std::string& name = "the text");

HEED_EXPORT std::unique_ptr<Tokenizer> restore_tokenizer(const std::string& state);

}  // namespace heed::data
