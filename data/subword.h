#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer.h"

// SentencePiece, kept in a file of its own: nothing else includes it.
namespace heed::data {

// exact: spaces and code points are not normalised.
std::string train_subword_model(const std::vector<std::string>& texts, const std::string& name,
                                int64_t pieces, bool exact);
// `model` is a serialised SentencePiece model. Throws InputError when it is none.
std::unique_ptr<Tokenizer> make_subword_tokenizer(const std::string& model, bool lowercase);

}  // namespace heed::data
