#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "data/grammar.h"
#include "data/grammar_lexicon.h"

namespace heed::data::grammar {

// Derives sentences of exact lengths top-down: every phrase is given the number of source words it
// must have and shares them out among its parts. Both sides are written in one pass, because the
// languages order phrases alike and differ only inside the noun phrase and the verb group.
class Derivation {
 public:
  explicit Derivation(Generator& generator) : generator_(generator) {}

  // `length` source words, from grammar_shortest to grammar_longest.
  GrammarSentence sentence(int length);

 private:
  struct Range {
    int min;
    int max;
  };
  // What the rest of a sentence has to agree with.
  struct Agreement {
    Gender gender;
    Person person;
    Kinds kind;
  };
  // What may stand where a noun phrase is wanted.
  struct Slot {
    Kinds kinds;
    bool definite = false;  // no "a", no "two"
    bool pronoun = false;   // "i", "we": subjects only
    bool relative = false;  // may carry a relative clause
  };

  static Range noun_phrase_range(const Slot& slot);
  static Range verb_phrase_range(bool nested);

  void clause(int length);
  Agreement noun_phrase(int length, const Slot& slot);
  Agreement name_or_pronoun(bool pronoun);
  Agreement determined_noun(int length, const Slot& slot);
  void relative_clause(int body, const Agreement& head);
  // Nested: inside a relative clause, where no other relative clause may stand.
  void verb_phrase(int length, const Agreement& subject, bool nested);
  void copular(int length, const Agreement& subject);
  void intransitive(int length, const Agreement& subject);
  void transitive(int length, const Agreement& subject, bool nested);
  void verb_group(int length, const Verb& verb, Person subject);
  void prepositional_phrase(int length);
  void adjective(const Adjective& adjective, const Agreement& noun);
  void link(const Link& link);

  // Appends to the source and returns the position; appends to the target.
  int say(std::string_view word);
  void translate(std::string_view word, std::initializer_list<int> positions);

  bool coin() { return generator_.below(2) == 0; }
  int between(Range range);
  // The length of the first of two parts that make `total`.
  int share(int total, Range first, Range rest);
  template <typename T>
  const T& pick(std::span<const T> items) {
    return items[generator_.below(items.size())];
  }
  template <typename T, typename Fits>
  const T& pick(std::span<const T> items, Fits fits);
  const Adjective& pick_adjective(std::span<const Adjective> adjectives, Kinds kind);

  Generator& generator_;
  std::vector<std::string_view> source_;
  std::vector<std::string_view> target_;
  std::vector<std::vector<int>> alignment_;
};

}  // namespace heed::data::grammar
