#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/export.h"
#include "data/text_file.h"
#include "data/tokenizer.h"
#include "data/vocabulary.h"

// Running text, as a language model learns it.
namespace heed::data {

// The corpus that is built in: heed's own sources and documents.
inline constexpr std::string_view own_sources = "sources";
HEED_EXPORT std::string_view own_sources_text();

// One text file, its lines joined by LF, or own_sources. Throws InputError as read_text_file does.
HEED_EXPORT std::string load_text(const std::string& name, InvalidUtf8 policy = InvalidUtf8::error);

// The text without its last `share`, and that: cut between two characters.
HEED_EXPORT std::pair<std::string_view, std::string_view> split_tail(std::string_view text,
                                                                     double share);

// A text is encoded line by line, LF being a piece of its own, so that every tokenizer keeps the
// lines.
HEED_EXPORT std::unique_ptr<Tokenizer> make_text_tokenizer(const TokenizerOptions& options,
                                                           std::string_view text);
HEED_EXPORT Vocabulary build_text_vocabulary(const Tokenizer& tokenizer, std::string_view text,
                                             int64_t min_count, int64_t max_size);
HEED_EXPORT void for_each_piece(const Tokenizer& tokenizer, std::string_view text,
                                const std::function<void(const std::string&)>& piece);
HEED_EXPORT std::vector<int32_t> encode_text(const Tokenizer& tokenizer,
                                             const Vocabulary& vocabulary, std::string_view text);

// Turns pieces into text as they come.
class HEED_EXPORT TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  // What the text grows by.
  std::string add(const std::string& piece);

 private:
  const Tokenizer& tokenizer_;
  std::vector<std::string> last_;  // the piece before on this line, if any
};

}  // namespace heed::data
