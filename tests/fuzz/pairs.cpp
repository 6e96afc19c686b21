// A corpus of pairs: a byte of options, then a TSV file, or two files with a line "====" between.
#include <algorithm>

#include "core/error.h"
#include "data/corpus.h"
#include "data/utf8.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace heed::fuzz {
namespace {

constexpr std::string_view border = "\n====\n";

void check_side(std::string_view text) {
  const auto points = data::decode_utf8(text);
  demand(!std::all_of(points.begin(), points.end(), data::is_space), "no side is blank");
  demand(!data::invalid_utf8_position(text), "each side is UTF-8");
  demand(text.find('\n') == std::string_view::npos, "each side is a line");
}

}  // namespace

void read(std::string_view input) {
  static const MemoryFile first;
  static const MemoryFile second;
  const unsigned choice = input.empty() ? 0 : static_cast<unsigned char>(input.front());
  std::string_view rest = input.substr(std::min<size_t>(1, input.size()));
  data::CorpusOptions options;
  options.invalid_utf8 = (choice & 1) != 0 ? data::InvalidUtf8::replace : data::InvalidUtf8::error;
  options.drop_empty = (choice & 2) != 0;
  std::vector<std::string> name = {first.path()};
  if (const size_t middle = rest.find(border); middle != std::string_view::npos) {
    second.hold(rest.substr(middle + border.size()));
    name.push_back(second.path());
    rest = rest.substr(0, middle);
  }
  first.hold(rest);
  try {
    const auto corpus = data::load_pair_corpus(name, data::Split::train, options);
    const auto lines = std::count(rest.begin(), rest.end(), '\n') + 1;
    demand(corpus.size() > 0, "there is a pair");
    demand(corpus.size() + corpus.empty_dropped() <= lines, "a pair takes a line");
    int64_t pairs = 0;
    corpus.for_each([&](const data::PairView& pair) {
      check_side(pair.source);
      check_side(pair.target);
      ++pairs;
    });
    demand(pairs == corpus.size(), "a second pass finds what the first did");
  } catch (const InputError&) {
  }
}

std::vector<std::string> seeds() {
  return {"2a red house\tune maison rouge\na tree\tun arbre\n",
          "3one\teins\r\n\r\ntwo\tzwei\tthree columns\n \t\xE2\x80\x83\nlast\tletzte",
          "0caf\xC3\xA9\tcoffee\nna\xEFve\tsimple\n", "2first\nsecond\n\n====\nerste\nzweite\n \n",
          "0a\nb\nc\n====\nx\ny\n"};
}

std::vector<std::string> words() {
  return {"\t",   "\n",           "\r\n",         "\t\n",     "\n\t",         "\n====\n",
          "\x80", "\xE2\x80\x83", "\xE2\x80\xA8", "\xC2\x85", "\xEF\xBB\xBF", "a\tb\n"};
}

}  // namespace heed::fuzz
