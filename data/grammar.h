#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"
#include "data/split.h"

namespace heed::data {

// The shortest and longest source sentences the grammar makes, in words with the final full stop.
inline constexpr int grammar_shortest = 3;
inline constexpr int grammar_longest = 30;

// An English sentence and its French translation: lower case, tokens apart by single spaces.
// The translation is a function of the source.
struct GrammarSentence {
  std::string source;
  std::string target;
  // alignment[j]: ascending positions (0-based) of the source words that target word j
  // translates; never empty. "ne" stands for "does not", "pas" for "not", all else word for word.
  std::vector<std::vector<int>> alignment;
};

struct GrammarOptions {
  int64_t count = 0;
  Split split = Split::train;
  int min_length = grammar_shortest;  // source words, with the final full stop
  int max_length = grammar_longest;
  uint64_t seed = 1;
};

// `count` distinct sentences of one split, the same for the same options on any machine; a larger
// count continues a smaller one. Lengths are uniform over the range as far as there are enough
// distinct short sentences (24 of three words over all splits); others take their place.
// Throws InputError when the options cannot be met.
HEED_EXPORT std::vector<GrammarSentence> generate_grammar(const GrammarOptions& options);

// The split a source sentence belongs to, whatever the seed: a tenth of all are validation, a tenth
// test, the rest train (FNV-1a hash of the text).
HEED_EXPORT Split grammar_split(std::string_view source);

}  // namespace heed::data
