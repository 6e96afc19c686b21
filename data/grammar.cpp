#include "data/grammar.h"

#include <unordered_set>

#include "core/error.h"
#include "core/random.h"
#include "data/grammar_derivation.h"

namespace heed::data {
namespace {

constexpr uint64_t random_stream = 0x6772616d6d6172;  // apart from all other uses of a seed

// A split keeps one sentence in ten at worst, so that this many misses on end mean that its
// sentences of these lengths are used up.
constexpr int64_t patience = 20000;

void check(const GrammarOptions& options) {
  HEED_CHECK_INPUT(options.count > 0, "grammar", "{} sentences were asked for; ask for at least 1",
                   options.count);
  HEED_CHECK_INPUT(options.min_length <= options.max_length, "grammar",
                   "the shortest length {} is greater than the longest, {}", options.min_length,
                   options.max_length);
  HEED_CHECK_INPUT(
      options.min_length >= grammar_shortest && options.max_length <= grammar_longest, "grammar",
      "lengths {} to {} were asked for, but the grammar makes sentences of {} to {} source words",
      options.min_length, options.max_length, grammar_shortest, grammar_longest);
}

const char* name(Split split) {
  switch (split) {
    case Split::train:
      return "train";
    case Split::validation:
      return "validation";
    case Split::test:
      return "test";
  }
  return "unknown";
}

}  // namespace

Split grammar_split(std::string_view source) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const char byte : source) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  switch (hash % 10) {
    case 0:
      return Split::validation;
    case 1:
      return Split::test;
    default:
      return Split::train;
  }
}

std::vector<GrammarSentence> generate_grammar(const GrammarOptions& options) {
  check(options);
  Generator generator(options.seed, random_stream);
  grammar::Derivation derivation(generator);
  std::vector<GrammarSentence> sentences;
  std::unordered_set<std::string> seen;
  const uint64_t lengths = options.max_length - options.min_length + 1;
  int64_t misses = 0;
  while (static_cast<int64_t>(sentences.size()) < options.count) {
    const int length = options.min_length + static_cast<int>(generator.below(lengths));
    GrammarSentence sentence = derivation.sentence(length);
    if (grammar_split(sentence.source) == options.split && seen.insert(sentence.source).second) {
      sentences.push_back(std::move(sentence));
      misses = 0;
      continue;
    }
    ++misses;
    HEED_CHECK_INPUT(
        misses < patience, "grammar",
        "{} {} sentences were asked for, but only {} different ones of {} to {} source words "
        "were found; ask for fewer, or allow longer ones",
        options.count, name(options.split), sentences.size(), options.min_length,
        options.max_length);
  }
  return sentences;
}

}  // namespace heed::data
