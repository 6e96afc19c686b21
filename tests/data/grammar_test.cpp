#include "data/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/support/error_of.h"

namespace heed::data {
namespace {

std::vector<std::string> words(const std::string& sentence) {
  std::istringstream stream(sentence);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) {
    result.push_back(word);
  }
  return result;
}

std::string error_of(const GrammarOptions& options) {
  return test::error_of<InputError>([&] { generate_grammar(options); });
}

// Every short sentence that a large sample holds, over all splits, with its translation.
std::map<std::string, std::string> short_translations() {
  std::map<std::string, std::string> result;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    const int64_t count = split == Split::train ? 5000 : 600;
    for (const auto& sentence :
         generate_grammar({.count = count, .split = split, .min_length = 3, .max_length = 5})) {
      result[sentence.source] = sentence.target;
    }
  }
  return result;
}

bool same(const GrammarSentence& a, const GrammarSentence& b) {
  return a.source == b.source && a.target == b.target && a.alignment == b.alignment;
}

// Written apart from the lexicon: what each English word may become in French.
const std::map<std::string, std::set<std::string>>& dictionary() {
  static const std::map<std::string, std::set<std::string>> entries = {
      {"the", {"le", "la", "les"}},
      {"a", {"un", "une"}},
      {"my", {"mon", "ma", "mes"}},
      {"this", {"ce", "cette"}},
      {"these", {"ces"}},
      {"two", {"deux"}},
      {"boy", {"garçon"}},
      {"boys", {"garçons"}},
      {"king", {"roi"}},
      {"kings", {"rois"}},
      {"girl", {"fille"}},
      {"girls", {"filles"}},
      {"queen", {"reine"}},
      {"queens", {"reines"}},
      {"cat", {"chat"}},
      {"cats", {"chats"}},
      {"dog", {"chien"}},
      {"dogs", {"chiens"}},
      {"cow", {"vache"}},
      {"cows", {"vaches"}},
      {"hen", {"poule"}},
      {"hens", {"poules"}},
      {"book", {"livre"}},
      {"books", {"livres"}},
      {"hat", {"chapeau"}},
      {"hats", {"chapeaux"}},
      {"car", {"voiture"}},
      {"cars", {"voitures"}},
      {"flower", {"fleur"}},
      {"flowers", {"fleurs"}},
      {"garden", {"jardin"}},
      {"gardens", {"jardins"}},
      {"house", {"maison"}},
      {"houses", {"maisons"}},
      {"small", {"petit", "petits", "petite", "petites"}},
      {"big", {"grand", "grands", "grande", "grandes"}},
      {"beautiful", {"beau", "beaux", "belle", "belles"}},
      {"young", {"jeune", "jeunes"}},
      {"red", {"rouge", "rouges"}},
      {"black", {"noir", "noirs", "noire", "noires"}},
      {"white", {"blanc", "blancs", "blanche", "blanches"}},
      {"sad", {"triste", "tristes"}},
      {"rich", {"riche", "riches"}},
      {"see", {"vois", "voit", "voyons", "voient"}},
      {"sees", {"voit"}},
      {"find", {"trouve", "trouvons", "trouvent"}},
      {"finds", {"trouve"}},
      {"watch", {"regarde", "regardons", "regardent"}},
      {"watches", {"regarde"}},
      {"draw", {"dessine", "dessinons", "dessinent"}},
      {"draws", {"dessine"}},
      {"guard", {"garde", "gardons", "gardent"}},
      {"guards", {"garde"}},
      {"sleep", {"dors", "dort", "dormons", "dorment"}},
      {"sleeps", {"dort"}},
      {"sing", {"chante", "chantons", "chantent"}},
      {"sings", {"chante"}},
      {"run", {"cours", "court", "courons", "courent"}},
      {"runs", {"court"}},
      {"work", {"travaille", "travaillons", "travaillent"}},
      {"works", {"travaille"}},
      {"is", {"est"}},
      {"are", {"sont"}},
      {"seem", {"semble", "semblent"}},
      {"seems", {"semble"}},
      {"does", {"ne"}},
      {"do", {"ne"}},
      {"not", {"ne", "pas"}},
      {"often", {"souvent"}},
      {"who", {"qui"}},
      {"that", {"qui", "que"}},
      {"and", {"et"}},
      {"but", {"mais"}},
      {"because", {"car"}},
      {"when", {"quand"}},
      {"if", {"si"}},
      {"i", {"je"}},
      {"we", {"nous"}},
      {"in", {"dans"}},
      {"with", {"avec"}},
      {"behind", {"derrière"}},
      {"marie", {"marie"}},
      {"julie", {"julie"}},
      {"paul", {"paul"}},
      {"thomas", {"thomas"}},
      {".", {"."}},
      {",", {","}},
  };
  return entries;
}

TEST(Grammar, TranslatesWithAgreementByExactText) {
  const auto translations = short_translations();
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"the cow is black .", "la vache est noire ."},
      {"the houses are white .", "les maisons sont blanches ."},
      {"my hats are beautiful .", "mes chapeaux sont beaux ."},
      {"the white cats sing .", "les chats blancs chantent ."},
      {"my white cows sleep .", "mes vaches blanches dorment ."},
      {"the beautiful cat sleeps .", "le beau chat dort ."},
      {"two beautiful cows sleep .", "deux belles vaches dorment ."},
      {"the small boys work .", "les petits garçons travaillent ."},
      {"these small queens sleep .", "ces petites reines dorment ."},
      {"thomas does not sleep .", "thomas ne dort pas ."},
      {"we do not sing .", "nous ne chantons pas ."},
      {"i do not work .", "je ne travaille pas ."},
      {"we often see paul .", "nous voyons souvent paul ."},
      {"i see these cats .", "je vois ces chats ."},
      {"we see this queen .", "nous voyons cette reine ."},
  };
  for (const auto& [source, target] : expected) {
    const auto found = translations.find(source);
    ASSERT_NE(found, translations.end()) << source;
    EXPECT_EQ(found->second, target);
  }
}

TEST(Grammar, LongSentenceByExactText) {
  const auto sentences =
      generate_grammar({.count = 1, .min_length = 18, .max_length = 18, .seed = 54});
  EXPECT_EQ(sentences[0].source,
            "if a hen that we draw runs , marie does not often find this young sad girl .");
  EXPECT_EQ(sentences[0].target,
            "si une poule que nous dessinons court , marie ne trouve pas souvent cette jeune fille "
            "triste .");
  const std::vector<std::vector<int>> alignment = {
      {0},     {1},  {2},  {3},  {4}, {5}, {6}, {7}, {8},  // si une poule que nous ... , marie
      {9, 10}, {12}, {10}, {11},                           // ne trouve pas souvent
      {13},    {14}, {16}, {15}, {17}};                    // cette jeune fille triste .
  EXPECT_EQ(sentences[0].alignment, alignment);
}

TEST(Grammar, TranslationIsAFunctionOfTheSource) {
  std::map<std::string, std::string> translations;
  for (const uint64_t seed : {1, 2, 3}) {
    for (const auto& sentence :
         generate_grammar({.count = 4000, .min_length = 3, .max_length = 6, .seed = seed})) {
      const auto [entry, inserted] = translations.emplace(sentence.source, sentence.target);
      EXPECT_EQ(entry->second, sentence.target) << sentence.source;
    }
  }
  EXPECT_LT(translations.size(), 12000U) << "the seeds share no sentence, so nothing was compared";
}

TEST(Grammar, AlignmentLinksWordsToTheirTranslations) {
  for (const auto& sentence : generate_grammar({.count = 2000})) {
    const auto source = words(sentence.source);
    const auto target = words(sentence.target);
    ASSERT_EQ(sentence.alignment.size(), target.size()) << sentence.source;
    std::vector<bool> covered(source.size());
    for (size_t j = 0; j < target.size(); ++j) {
      ASSERT_FALSE(sentence.alignment[j].empty());
      ASSERT_EQ(sentence.alignment[j].size(), target[j] == "ne" ? 2U : 1U);
      ASSERT_TRUE(std::ranges::is_sorted(sentence.alignment[j]));
      for (const int position : sentence.alignment[j]) {
        ASSERT_GE(position, 0);
        ASSERT_LT(position, static_cast<int>(source.size()));
        covered[position] = true;
        const auto entry = dictionary().find(source[position]);
        ASSERT_NE(entry, dictionary().end()) << source[position];
        EXPECT_TRUE(entry->second.contains(target[j])) << source[position] << " -> " << target[j];
      }
    }
    EXPECT_EQ(std::ranges::count(covered, false), 0) << sentence.source;
  }
}

TEST(Grammar, WordsBeforeANounAgreeWithIt) {
  // Gender and number of each French noun, written apart from the lexicon.
  std::map<std::string, std::string> shape;
  for (const std::string noun : {"garçon", "roi", "chat", "chien", "livre", "jardin"}) {
    shape[noun] = "ms";
    shape[noun + "s"] = "mp";
  }
  shape["chapeau"] = "ms";
  shape["chapeaux"] = "mp";
  for (const std::string noun :
       {"fille", "reine", "vache", "poule", "voiture", "fleur", "maison"}) {
    shape[noun] = "fs";
    shape[noun + "s"] = "fp";
  }
  const std::map<std::string, std::string> marked = {
      {"le", "ms"},     {"la", "fs"},      {"mon", "ms"},   {"ma", "fs"},    {"ce", "ms"},
      {"cette", "fs"},  {"un", "ms"},      {"une", "fs"},   {"petit", "ms"}, {"petite", "fs"},
      {"petits", "mp"}, {"petites", "fp"}, {"beau", "ms"},  {"belle", "fs"}, {"beaux", "mp"},
      {"belles", "fp"}, {"noir", "ms"},    {"noire", "fs"}, {"noirs", "mp"}, {"noires", "fp"}};
  int64_t compared = 0;
  for (const auto& sentence : generate_grammar({.count = 2000})) {
    const auto target = words(sentence.target);
    for (size_t j = 0; j < target.size(); ++j) {
      const auto noun = shape.find(target[j]);
      if (noun == shape.end()) {
        continue;
      }
      // The word before is a determiner or an adjective of this noun.
      const auto before = j == 0 ? marked.end() : marked.find(target[j - 1]);
      if (before != marked.end()) {
        EXPECT_EQ(before->second, noun->second) << sentence.target;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 2000);
}

TEST(Grammar, NothingElides) {
  const std::string vowels = "aeiou";
  for (const auto& sentence : generate_grammar({.count = 5000})) {
    const auto target = words(sentence.target);
    for (size_t j = 0; j + 1 < target.size(); ++j) {
      const std::string& word = target[j];
      if (word == "ne" || word == "que" || word == "je" || word == "le" || word == "la") {
        EXPECT_EQ(vowels.find(target[j + 1][0]), std::string::npos) << sentence.target;
      }
    }
  }
}

TEST(Grammar, SplitsAreDisjointWhateverTheSeed) {
  std::map<std::string, Split> owner;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    for (const uint64_t seed : {1, 2}) {
      const auto sentences = generate_grammar(
          {.count = 600, .split = split, .min_length = 3, .max_length = 6, .seed = seed});
      std::set<std::string> distinct;
      for (const auto& sentence : sentences) {
        EXPECT_TRUE(distinct.insert(sentence.source).second) << sentence.source;
        EXPECT_EQ(grammar_split(sentence.source), split);
        EXPECT_EQ(owner.emplace(sentence.source, split).first->second, split) << sentence.source;
      }
    }
  }
}

TEST(Grammar, SplitIsAStableHash) {
  EXPECT_EQ(grammar_split("paul sleeps ."), Split::train);
  EXPECT_EQ(grammar_split("these cats often sing ."), Split::validation);
  EXPECT_EQ(grammar_split("marie sleeps ."), Split::test);
}

TEST(Grammar, LengthsCoverTheRangeEvenly) {
  std::map<size_t, int> counts;
  for (const auto& sentence : generate_grammar({.count = 5600})) {
    ++counts[words(sentence.source).size()];
  }
  EXPECT_EQ(counts.begin()->first, 3U);
  EXPECT_EQ(counts.rbegin()->first, 30U);
  EXPECT_EQ(counts.size(), 28U);
  for (const auto& [length, count] : counts) {
    if (length >= 5) {  // of shorter ones there are too few
      EXPECT_NEAR(count, 200, 60) << length;
    }
  }
}

TEST(Grammar, NarrowRangesHoldTheirLengths) {
  for (const auto& [low, high] : {std::pair{3, 15}, std::pair{16, 30}, std::pair{30, 30}}) {
    for (const auto& sentence :
         generate_grammar({.count = 300, .min_length = low, .max_length = high})) {
      const auto length = static_cast<int>(words(sentence.source).size());
      EXPECT_GE(length, low);
      EXPECT_LE(length, high);
    }
  }
}

TEST(Grammar, SameOptionsSameSentences) {
  const auto first = generate_grammar({.count = 200});
  const auto again = generate_grammar({.count = 200});
  const auto longer = generate_grammar({.count = 300});
  const auto other = generate_grammar({.count = 200, .seed = 2});
  EXPECT_TRUE(std::ranges::equal(first, again, same));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), longer.begin(), same));
  EXPECT_FALSE(std::ranges::equal(first, other, same));
}

TEST(Grammar, AboutAHundredWordsASide) {
  std::set<std::string> source;
  std::set<std::string> target;
  for (const auto& sentence : generate_grammar({.count = 5000})) {
    std::ranges::copy(words(sentence.source), std::inserter(source, source.end()));
    std::ranges::copy(words(sentence.target), std::inserter(target, target.end()));
  }
  EXPECT_EQ(source.size(), 87U);
  EXPECT_EQ(target.size(), 123U);
  EXPECT_EQ(source.size(), dictionary().size()) << "a word of the lexicon was never used";
}

TEST(Grammar, ImpossibleOptionsAreNamed) {
  EXPECT_EQ(error_of({.count = 0}), "[grammar] 0 sentences were asked for; ask for at least 1");
  EXPECT_EQ(error_of({.count = -3}), "[grammar] -3 sentences were asked for; ask for at least 1");
  EXPECT_EQ(error_of({.count = 1, .min_length = 9, .max_length = 5}),
            "[grammar] the shortest length 9 is greater than the longest, 5");
  EXPECT_EQ(error_of({.count = 1, .min_length = 2}),
            "[grammar] lengths 2 to 30 were asked for, but the grammar makes sentences of 3 to 30 "
            "source words");
  EXPECT_EQ(error_of({.count = 1, .max_length = 31}),
            "[grammar] lengths 3 to 31 were asked for, but the grammar makes sentences of 3 to 30 "
            "source words");
  EXPECT_EQ(error_of({.count = 100, .min_length = 3, .max_length = 3}),
            "[grammar] 100 train sentences were asked for, but only 18 different ones of 3 to 3 "
            "source words were found; ask for fewer, or allow longer ones");
}

}  // namespace
}  // namespace heed::data
