#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/export.h"
#include "core/input_file.h"
#include "data/id_store.h"
#include "data/text_file.h"
#include "data/tokenizer.h"
#include "data/vocabulary.h"

// Running text, as a language model learns it.
namespace heed::data {

// The corpus that is built in: heed's own sources and documents.
inline constexpr std::string_view own_sources = "sources";
HEED_EXPORT std::string_view own_sources_text();

// A text, or a part of one, that is read anew each time and not held: lines with LF between them.
// Copies are cheap.
class HEED_EXPORT RunningText {
 public:
  // own_sources, or one text file, each of whose lines gets an LF. It is read once, to see that it
  // can be. Throws InputError as TextReader does.
  static RunningText load(const std::string& name, InvalidUtf8 policy = InvalidUtf8::error);
  // A text at hand, as it is.
  RunningText(std::string name, std::string text);

  const std::string& name() const { return name_; }
  int64_t bytes() const { return end_ - begin_; }

  // The text without its last `share`, and that: cut between two characters.
  std::pair<RunningText, RunningText> split_tail(double share) const;
  RunningText renamed(std::string name) const;

  // Lines one after another, each valid during the visit; all but perhaps the last have an LF.
  struct Line {
    std::string_view text;
    bool has_newline;
  };
  void for_each_line(const std::function<void(const Line&)>& visit) const;

 private:
  RunningText() = default;
  // Of the whole text, until `visit` returns false.
  void scan(const std::function<bool(const Line&)>& visit) const;

  std::string name_;
  std::shared_ptr<const InputFile> file_;  // or else:
  std::shared_ptr<const std::string> held_;
  InvalidUtf8 policy_ = InvalidUtf8::error;
  int64_t begin_ = 0;  // in bytes of the text as it is read; a character on a cut
  int64_t end_ = 0;    // belongs to what is before it
};

// A text is encoded line by line, LF being a piece of its own, so that every tokenizer keeps the
// lines.
HEED_EXPORT void for_each_piece(const Tokenizer& tokenizer, const RunningText::Line& line,
                                const std::function<void(const std::string&)>& piece);
HEED_EXPORT std::vector<int32_t> encode_line(const Tokenizer& tokenizer,
                                             const Vocabulary& vocabulary,
                                             const RunningText::Line& line);
HEED_EXPORT std::unique_ptr<Tokenizer> make_text_tokenizer(const TokenizerOptions& options,
                                                           const RunningText& text);
HEED_EXPORT Vocabulary build_text_vocabulary(const Tokenizer& tokenizer, const RunningText& text,
                                             int64_t min_count, int64_t max_size);
HEED_EXPORT IdStore encode_text(const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                                const RunningText& text);

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
