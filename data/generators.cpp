#include "data/generators.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/random.h"
#include "data/grammar.h"

namespace heed::data {
namespace {

// Pairs that are held, with their alignments.
class GeneratedPairs final : public PairSource {
 public:
  void add(SentencePair pair, WordAlignment alignment) {
    pairs_.emplace_back(std::move(pair), std::move(alignment));
  }
  void scan(Pass /*pass*/, const std::function<bool(const PairView&)>& visit) const override {
    for (const auto& [pair, alignment] : pairs_) {
      if (!visit({pair.source, pair.target, &alignment})) {
        return;
      }
    }
  }

 private:
  std::vector<std::pair<SentencePair, WordAlignment>> pairs_;
};

std::shared_ptr<const PairSource> grammar(const GeneratorRequest& request) {
  GrammarOptions options;
  options.count = request.count;
  options.split = request.split;
  options.seed = request.seed;
  if (request.lengths) {
    options.min_length = request.lengths->first;
    options.max_length = request.lengths->second;
  }
  auto corpus = std::make_shared<GeneratedPairs>();
  for (GrammarSentence& sentence : generate_grammar(options)) {
    corpus->add({std::move(sentence.source), std::move(sentence.target)},
                std::move(sentence.alignment));
  }
  return corpus;
}

// Strings of digits and their reversal. Each split draws from a stream of its own; strings of a
// few digits are so few that the splits share some. The test asks for longer ones than the other
// splits hold: does the model extrapolate?
std::shared_ptr<const PairSource> reverse(const GeneratorRequest& request) {
  const std::pair default_lengths = {1, request.split == Split::test ? 30 : 25};
  constexpr uint64_t first_stream = 0x7265766572736500;
  const auto [least, most] = request.lengths.value_or(default_lengths);
  Generator generator(request.seed, first_stream + static_cast<uint64_t>(request.split));
  auto corpus = std::make_shared<GeneratedPairs>();
  for (int64_t i = 0; i < request.count; ++i) {
    const int length =
        least + static_cast<int>(generator.below(static_cast<uint64_t>(most - least) + 1));
    SentencePair pair;
    WordAlignment alignment;
    for (int d = 0; d < length; ++d) {
      const char digit = static_cast<char>('0' + generator.below(10));
      pair.source += d == 0 ? "" : " ";
      pair.source += digit;
      alignment.push_back({length - 1 - d});
    }
    pair.target.assign(pair.source.rbegin(), pair.source.rend());
    corpus->add(std::move(pair), std::move(alignment));
  }
  return corpus;
}

struct NamedGenerator {
  std::string_view name;
  PairGenerator generate;
};

constexpr NamedGenerator generators[] = {{"grammar", grammar}, {"reverse", reverse}};

}  // namespace

std::string generator_names() {
  std::string names;
  for (const NamedGenerator& entry : generators) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  }
  return names;
}

const PairGenerator* find_generator(std::string_view name) {
  const auto* found = std::find_if(std::begin(generators), std::end(generators),
                                   [&](const NamedGenerator& entry) { return entry.name == name; });
  return found == std::end(generators) ? nullptr : &found->generate;
}

}  // namespace heed::data
