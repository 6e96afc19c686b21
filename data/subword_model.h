#pragma once

#include <string_view>

namespace heed::data {

// SentencePiece believes what a model says: offsets into its tables are followed unchecked, and a
// score or a piece that its trainer never writes ends the process. So only such models pass as the
// trainer of this project writes: unigram, the first piece unknown and the others normal, none
// empty or with a NUL, finite scores, and normalisation tables that stay within themselves.
// Throws InputError: "[data] this is no SentencePiece model of heed: ...".
void check_subword_model(std::string_view model);

}  // namespace heed::data
