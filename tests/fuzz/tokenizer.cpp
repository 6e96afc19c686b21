// Any text through the tokenizers and UTF-8, which promise to lose nothing or only spaces.
#include "data/tokenizer.h"

#include <algorithm>

#include "core/error.h"
#include "data/text_corpus.h"
#include "data/utf8.h"
#include "tests/fuzz/target.h"

namespace heed::fuzz {
namespace {

using data::Tokenizer;

std::unique_ptr<Tokenizer> make(const char* kind, bool lowercase = false) {
  return data::make_tokenizer({kind, lowercase, 0, false}, {});
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) {
    text += piece;
  }
  return text;
}

void check_utf8(std::string_view text) {
  std::string again;
  for (const char32_t point : data::decode_utf8(text)) {
    data::append_utf8(again, point);
  }
  demand(again == text, "decoding UTF-8 loses nothing");
  demand(joined(data::code_points(text)) == text, "the code points are the text");
  const auto invalid = data::invalid_utf8_position(text);
  int64_t count = 0;
  const std::string replaced = data::replace_invalid_utf8(text, count);
  demand(!data::invalid_utf8_position(replaced), "nothing invalid is left");
  demand((count == 0) == !invalid && (invalid || replaced == text), "valid text is kept");
  const std::string lower = data::lower_case(text);
  demand(data::lower_case(lower) == lower, "lower case is lower case");
  demand(data::decode_utf8(lower).size() == data::decode_utf8(text).size(),
         "lower case goes code point by code point");
}

// What a language model writes comes from pieces one by one.
void check_stream(const Tokenizer& tokenizer, std::string_view line) {
  data::TextStream stream(tokenizer);
  const auto pieces = tokenizer.encode(line);
  std::string written;
  for (const std::string& piece : pieces) {
    written += stream.add(piece);
  }
  demand(written == tokenizer.decode(pieces), "a stream writes what decoding at once gives");
}

}  // namespace

void read(std::string_view input) {
  check_utf8(input);
  static const auto character = make("character");
  static const auto word = make("word");
  static const auto space = make("space");
  static const auto lower = make("word", true);
  demand(character->decode(character->encode(input)) == input, "characters lose nothing");

  std::string without_spaces;
  for (const char32_t point : data::decode_utf8(input)) {
    if (!data::is_space(point)) {
      data::append_utf8(without_spaces, point);
    }
  }
  demand(joined(word->encode(input)) == without_spaces, "words lose spaces alone");
  demand(word->encode(word->decode(word->encode(input))) == word->encode(input),
         "words come back from text");
  const auto pieces = space->encode(input);
  demand(space->encode(space->decode(pieces)) == pieces, "pieces between spaces come back");
  demand(lower->encode(input) == word->encode(data::lower_case(input)), "lower case comes first");

  for (const Tokenizer* tokenizer : {character.get(), word.get(), space.get()}) {
    check_stream(*tokenizer, input.substr(0, input.find('\n')));
    demand(data::restore_tokenizer(tokenizer->state())->encode(input) == tokenizer->encode(input),
           "a restored tokenizer does the same");
  }
  try {
    data::restore_tokenizer(std::string(input.substr(0, 64)));
  } catch (const InputError&) {
  }
}

std::vector<std::string> seeds() {
  return {
      "I'm home, (really) \xE2\x80\x94 at 3.14%!",
      "\xC2\xBFQu\xC3\xA9? \xC2\xA1No!  two  spaces\n\tand a line\n\n",
      "\xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8\xE0\xA5\x8D\xE0\xA4\xA4\xE0\xA5\x87 \xF0\x9F\x91\xA9"
      "\xE2\x80\x8D\xF0\x9F\x91\xA9 \xC4\xB0\xC5\xBF\xE1\xBA\x9E",
      "stray \x80\xFF\xC3 bytes \xED\xA0\x80", "word as-is\n"};
}

std::vector<std::string> words() {
  return {"'",        "\xE2\x80\x99", "\xE2\x80\xA6",     "\xC2\xAB", "\xC2\xBB", "\xC2\x85",
          "\xC2\xA0", "\xE3\x80\x80", "\xCC\x81",         "\xC4\xB0", "_",        "-",
          "\n",       "\t",           "\xF4\x8F\xBF\xBF", "lower\n"};
}

}  // namespace heed::fuzz
