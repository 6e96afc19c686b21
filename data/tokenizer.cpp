#include "data/tokenizer.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/logging.h"
#include "data/subword.h"
#include "data/utf8.h"

namespace heed::data {
namespace {

std::string prepare(std::string_view text, bool lowercase) {
  return lowercase ? lower_case(text) : std::string(text);
}

std::string header(const char* kind, bool lowercase) {
  return fmt::format("{} {}\n", kind, lowercase ? "lower" : "as-is");
}

class WordTokenizer final : public Tokenizer {
 public:
  explicit WordTokenizer(bool lowercase) : lowercase_(lowercase) {}

  std::vector<std::string> encode(std::string_view text) const override {
    std::vector<std::string> words;
    bool in_word = false;
    for (const char32_t point : decode_utf8(prepare(text, lowercase_))) {
      const bool word = is_word_character(point);
      if (!is_space(point)) {
        if (!word || !in_word) {
          words.emplace_back();
        }
        append_utf8(words.back(), point);
      }
      in_word = word;
    }
    return words;
  }

  // A space between words, but none before closing punctuation, after an opening one, or on either
  // side of an apostrophe or a hyphen: "i ' m home ." gives "i'm home."
  std::string decode(const std::vector<std::string>& pieces) const override {
    static const std::set<std::string> no_space_before = {".", ",", "?", "!", ";", ":", "%", ")",
                                                          "]", "}", "'", "’", "-", "…", "»"};
    static const std::set<std::string> no_space_after = {"(", "[", "{", "'", "’",
                                                         "-", "«", "¿", "¡"};
    std::string text;
    bool glue = true;
    for (const std::string& piece : pieces) {
      if (!glue && !no_space_before.contains(piece)) {
        text += ' ';
      }
      text += piece;
      glue = no_space_after.contains(piece);
    }
    return text;
  }
  std::string state() const override { return header("word", lowercase_); }

 private:
  bool lowercase_;
};

class SpaceTokenizer final : public Tokenizer {
 public:
  explicit SpaceTokenizer(bool lowercase) : lowercase_(lowercase) {}

  std::vector<std::string> encode(std::string_view text) const override {
    std::vector<std::string> words;
    const std::string prepared = prepare(text, lowercase_);
    std::string_view rest = prepared;
    while (!rest.empty()) {
      const size_t end = rest.find_first_of(" \t");
      if (end != 0) {
        words.emplace_back(rest.substr(0, end));
      }
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return words;
  }
  std::string decode(const std::vector<std::string>& pieces) const override {
    std::string text;
    for (const std::string& piece : pieces) {
      text += text.empty() ? "" : " ";
      text += piece;
    }
    return text;
  }
  std::string state() const override { return header("space", lowercase_); }

 private:
  bool lowercase_;
};

class CharacterTokenizer final : public Tokenizer {
 public:
  explicit CharacterTokenizer(bool lowercase) : lowercase_(lowercase) {}

  std::vector<std::string> encode(std::string_view text) const override {
    return code_points(prepare(text, lowercase_));
  }
  std::string decode(const std::vector<std::string>& pieces) const override {
    std::string text;
    for (const std::string& piece : pieces) {
      text += piece;
    }
    return text;
  }
  std::string state() const override { return header("character", lowercase_); }

 private:
  bool lowercase_;
};

std::unique_ptr<Tokenizer> make_untrained(std::string_view kind, bool lowercase) {
  if (kind == "word") {
    return std::make_unique<WordTokenizer>(lowercase);
  }
  if (kind == "space") {
    return std::make_unique<SpaceTokenizer>(lowercase);
  }
  if (kind == "character") {
    return std::make_unique<CharacterTokenizer>(lowercase);
  }
  throw InputError("data", fmt::format("'{}' is no tokenizer; word, space, character and subword "
                                       "are",
                                       kind));
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const TokenizerOptions& options,
                                          const std::vector<std::string>& texts,
                                          const std::string& name) {
  if (options.kind != "subword") {
    return make_untrained(options.kind, options.lowercase);
  }
  std::vector<std::string> prepared;
  for (const std::string& text : texts) {
    prepared.push_back(prepare(text, options.lowercase));
  }
  auto tokenizer = make_subword_tokenizer(
      train_subword_model(prepared, name, options.subword_size, options.exact), options.lowercase);
  if (tokenizer->piece_count() < options.subword_size) {
    log::info("data", "{} gives {} subword pieces, {} were asked for", name,
              tokenizer->piece_count(), options.subword_size);
  }
  return tokenizer;
}

std::unique_ptr<Tokenizer> restore_tokenizer(const std::string& state) {
  const size_t space = state.find(' ');
  const size_t newline = state.find('\n');
  HEED_CHECK_INPUT(space != std::string::npos && newline != std::string::npos && space < newline,
                   "data", "this is no tokenizer state");
  const std::string kind = state.substr(0, space);
  const std::string letters = state.substr(space + 1, newline - space - 1);
  HEED_CHECK_INPUT(letters == "lower" || letters == "as-is", "data", "this is no tokenizer state");
  const bool lowercase = letters == "lower";
  return kind == "subword" ? make_subword_tokenizer(state.substr(newline + 1), lowercase)
                           : make_untrained(kind, lowercase);
}

}  // namespace heed::data
