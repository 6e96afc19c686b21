#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
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

// A pair during a visit.
struct PairView {
  std::string_view source;
  std::string_view target;
  const WordAlignment* alignment = nullptr;  // where the truth is known
  bool further_columns = false;              // its line has more than two columns
};

// Where the pairs of a corpus come from.
class HEED_EXPORT PairSource {
 public:
  virtual ~PairSource() = default;
  enum class Pass { first, later };
  // Visits all pairs until `visit` returns false. The first pass checks all and logs what it found.
  virtual void scan(Pass pass, const std::function<bool(const PairView&)>& visit) const = 0;
};

// Sentence pairs with text on both sides. Those of files are read anew each time and not held.
class HEED_EXPORT PairCorpus {
 public:
  // Reads all once. Without drop_empty an empty or blank side is an InputError.
  PairCorpus(std::string name, std::shared_ptr<const PairSource> source, bool drop_empty = true);

  const std::string& name() const { return name_; }
  int64_t size() const { return size_; }
  int64_t empty_dropped() const { return empty_dropped_; }  // pairs with an empty or blank side
  int64_t source_bytes() const { return source_bytes_; }
  int64_t target_bytes() const { return target_bytes_; }

  void for_each(const std::function<void(const PairView&)>& visit) const;
  // Until `visit` returns false.
  void scan(const std::function<bool(const PairView&)>& visit) const;
  // At most so many.
  std::vector<SentencePair> first(size_t count) const;

 private:
  std::string name_;
  std::shared_ptr<const PairSource> source_;
  int64_t size_ = 0;
  int64_t empty_dropped_ = 0;
  int64_t source_bytes_ = 0;
  int64_t target_bytes_ = 0;
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

// Not of a pipe, which gives its text once, to who opens it first, and keeps a second one waiting.
HEED_EXPORT bool can_be_opened_again(const std::vector<std::string>& name);

}  // namespace heed::data
