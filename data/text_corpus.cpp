#include "data/text_corpus.h"

#include <cmath>
#include <cstddef>
#include <map>

#include "core/error.h"

// Set by the assembler: the concatenated files.
extern "C" {
extern const char heed_sources_begin[];
extern const char heed_sources_end[];
}

namespace heed::data {
namespace {

const std::string newline = "\n";

}  // namespace

std::string_view own_sources_text() {
  return {heed_sources_begin, static_cast<size_t>(heed_sources_end - heed_sources_begin)};
}

std::string load_text(const std::string& name, InvalidUtf8 policy) {
  if (name == own_sources) {
    return std::string(own_sources_text());
  }
  std::string text;
  for (const std::string& line : read_text_file(name, policy).lines) {
    text += line;
    text += newline;
  }
  return text;
}

std::pair<std::string_view, std::string_view> split_tail(std::string_view text, double share) {
  auto cut = static_cast<size_t>(std::floor(static_cast<double>(text.size()) * (1 - share)));
  while (cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) {
    ++cut;
  }
  return {text.substr(0, cut), text.substr(cut)};
}

std::unique_ptr<Tokenizer> make_text_tokenizer(const TokenizerOptions& options,
                                               std::string_view text) {
  TokenizerOptions exact = options;
  exact.exact = true;
  std::vector<std::string> lines;
  while (options.kind == "subword" && !text.empty()) {
    const size_t end = text.find('\n');
    if (end != 0) {
      lines.emplace_back(text.substr(0, end));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return make_tokenizer(exact, lines);
}

Vocabulary build_text_vocabulary(const Tokenizer& tokenizer, std::string_view text,
                                 int64_t min_count, int64_t max_size) {
  std::map<std::string, int64_t> counts;
  for_each_piece(tokenizer, text, [&](const std::string& piece) { ++counts[piece]; });
  return Vocabulary::from_counts(counts, min_count, max_size);
}

void for_each_piece(const Tokenizer& tokenizer, std::string_view text,
                    const std::function<void(const std::string&)>& piece) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    for (const std::string& each : tokenizer.encode(text.substr(0, end))) {
      piece(each);
    }
    if (end == std::string_view::npos) {
      return;
    }
    piece(newline);
    text.remove_prefix(end + 1);
  }
}

std::vector<int32_t> encode_text(const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                                 std::string_view text) {
  std::vector<int32_t> ids;
  for_each_piece(tokenizer, text,
                 [&](const std::string& piece) { ids.push_back(vocabulary.id(piece)); });
  return ids;
}

// Each tokenizer joins a piece to what comes before by the last piece alone.
std::string TextStream::add(const std::string& piece) {
  if (piece == newline) {
    last_.clear();
    return newline;
  }
  const size_t before = last_.empty() ? 0 : tokenizer_.decode(last_).size();
  last_.push_back(piece);
  std::string grown = tokenizer_.decode(last_).substr(before);
  last_ = {piece};
  return grown;
}

}  // namespace heed::data
