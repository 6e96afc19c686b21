#include "data/text_corpus.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "data/line_sample.h"

// Set by the assembler: the concatenated files.
extern "C" {
extern const char heed_sources_begin[];
extern const char heed_sources_end[];
}

namespace heed::data {
namespace {

const std::string newline = "\n";

// The first place from `at` on, in [0, size], that is not within a character.
size_t character_start(std::string_view text, int64_t at) {
  auto place = static_cast<size_t>(std::clamp<int64_t>(at, 0, static_cast<int64_t>(text.size())));
  while (place > 0 && place < text.size() &&
         (static_cast<unsigned char>(text[place]) & 0xC0) == 0x80) {
    ++place;
  }
  return place;
}

}  // namespace

std::string_view own_sources_text() {
  return {heed_sources_begin, static_cast<size_t>(heed_sources_end - heed_sources_begin)};
}

RunningText RunningText::load(const std::string& name, InvalidUtf8 policy) {
  if (name == own_sources) {
    return {name, std::string(own_sources_text())};
  }
  RunningText text;
  text.name_ = name;
  text.file_ = std::make_shared<InputFile>("data", name);
  text.policy_ = policy;
  TextReader reader(text.file_, policy);
  while (const auto line = reader.next()) {
    text.end_ += static_cast<int64_t>(line->size()) + 1;
  }
  reader.log_repairs();
  return text;
}

RunningText::RunningText(std::string name, std::string text)
    : name_(std::move(name)), end_(static_cast<int64_t>(text.size())) {
  held_ = std::make_shared<const std::string>(std::move(text));
}

std::pair<RunningText, RunningText> RunningText::split_tail(double share) const {
  std::pair<RunningText, RunningText> parts{*this, *this};
  const auto size = static_cast<double>(bytes());
  parts.first.end_ = begin_ + static_cast<int64_t>(std::floor(size * (1 - share)));
  parts.second.begin_ = parts.first.end_;
  return parts;
}

RunningText RunningText::renamed(std::string name) const {
  RunningText copy = *this;
  copy.name_ = std::move(name);
  return copy;
}

void RunningText::scan(const std::function<bool(const Line&)>& visit) const {
  if (file_ != nullptr) {
    TextReader reader(file_, policy_);
    for (auto line = reader.next(); line && visit({*line, true}); line = reader.next()) {
    }
    file_->check_unchanged();
    return;
  }
  std::string_view rest = *held_;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const bool has_newline = end != std::string_view::npos;
    if (!visit({rest.substr(0, end), has_newline}) || !has_newline) {
      return;
    }
    rest.remove_prefix(end + 1);
  }
}

void RunningText::for_each_line(const std::function<void(const Line&)>& visit) const {
  int64_t at = 0;
  scan([&](const Line& line) {
    const int64_t newline_at = at + static_cast<int64_t>(line.text.size());
    const size_t first = character_start(line.text, begin_ - at);
    const size_t last = character_start(line.text, end_ - at);
    const Line part{line.text.substr(first, last - first),
                    line.has_newline && newline_at >= begin_ && newline_at < end_};
    if (!part.text.empty() || part.has_newline) {
      visit(part);
    }
    at = newline_at + 1;
    return at < end_;
  });
}

void for_each_piece(const Tokenizer& tokenizer, const RunningText::Line& line,
                    const std::function<void(const std::string&)>& piece) {
  for (const std::string& each : tokenizer.encode(line.text)) {
    piece(each);
  }
  if (line.has_newline) {
    piece(newline);
  }
}

std::vector<int32_t> encode_line(const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                                 const RunningText::Line& line) {
  std::vector<int32_t> ids = vocabulary.encode(tokenizer.encode(line.text));
  if (line.has_newline) {
    ids.push_back(vocabulary.id(newline));
  }
  return ids;
}

std::unique_ptr<Tokenizer> make_text_tokenizer(const TokenizerOptions& options,
                                               const RunningText& text) {
  TokenizerOptions exact = options;
  exact.exact = true;
  LineSample sample(text.bytes(), options.subword_sample);
  if (options.kind == "subword") {
    text.for_each_line([&](const RunningText::Line& line) {
      if (!line.text.empty()) {
        sample.offer(line.text);
      }
    });
  }
  return make_tokenizer(exact, sample.take(text.name()), text.name());
}

Vocabulary build_text_vocabulary(const Tokenizer& tokenizer, const RunningText& text,
                                 int64_t min_count, int64_t max_size) {
  TokenCounts counts;
  text.for_each_line([&](const RunningText::Line& line) {
    for_each_piece(tokenizer, line, [&](const std::string& piece) { ++counts[piece]; });
  });
  return Vocabulary::from_counts(counts, min_count, max_size);
}

IdStore encode_text(const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                    const RunningText& text) {
  IdStore ids(text.name(), vocabulary.size());
  text.for_each_line(
      [&](const RunningText::Line& line) { ids.append(encode_line(tokenizer, vocabulary, line)); });
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
