#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/export.h"
#include "data/split.h"
#include "data/text_file.h"

namespace heed::data {

struct SentencePair {
  std::string source;
  std::string target;
};

// Of each target word the positions of the source words it translates.
using WordAlignment = std::vector<std::vector<int>>;

struct PairCorpus {
  std::string name;
  std::vector<SentencePair> pairs;
  std::vector<WordAlignment> alignments;  // one a pair where the truth is known, else empty
  int64_t empty_dropped = 0;              // pairs with an empty or blank side
  int64_t extra_columns = 0;              // lines with more than two columns, the rest ignored
};

struct CorpusOptions {
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;
  bool drop_empty = true;  // false: an empty side is an error
  uint64_t seed = 1;       // of the built-in generators
};

// name: one TSV file (source TAB target), two parallel files, or a built-in generator with its
// size and, if wanted, the lengths of its sources: "grammar:20000", "grammar:1000:16-30".
// Throws InputError for what cannot be read, naming file and line.
HEED_EXPORT PairCorpus load_pair_corpus(const std::vector<std::string>& name, Split split,
                                        const CorpusOptions& options = {});

// Whether a name means a generator rather than a file ("grammar:...", "reverse:...").
HEED_EXPORT bool is_generator(const std::string& name);

}  // namespace heed::data
