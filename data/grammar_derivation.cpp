#include "data/grammar_derivation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

namespace heed::data::grammar {
namespace {

// Words a part may have; chosen so that two or three clauses fill the longest sentence.
constexpr int longest_clause = 14;
constexpr int longest_head = 4;        // the small red car
constexpr int longest_verb_group = 4;  // does not often see
constexpr int longest_relative = 7;    // after "who" or "that"
constexpr int longest_prepositional = 5;

constexpr int index(Gender gender) { return gender == Gender::feminine ? 1 : 0; }
constexpr int plural(Person person) {
  return person == Person::we || person == Person::third_plural ? 1 : 0;
}
constexpr bool third_person(Person person) {
  return person == Person::third_singular || person == Person::third_plural;
}

// Lengths that "is sad" and "is small and red" or "does not seem sad" have.
constexpr bool copular_length(int length) { return length == 2 || length == 4; }

}  // namespace

GrammarSentence Derivation::sentence(int length) {
  HEED_ASSERT(length >= grammar_shortest && length <= grammar_longest, "length {}", length);
  source_.clear();
  target_.clear();
  alignment_.clear();

  // Clauses and the words that join them.
  struct Plan {
    int clauses;
    bool fronted;
    int joints;
  };
  constexpr Plan plans[] = {{1, false, 0}, {2, false, 1}, {2, true, 2}, {3, false, 2}};
  const int words = length - 1;
  const Range one = {2, longest_clause};
  const Plan plan = pick(std::span<const Plan>(plans), [&](const Plan& candidate) {
    const int left = words - candidate.joints;
    return left >= candidate.clauses * one.min && left <= candidate.clauses * one.max;
  });

  int left = words - plan.joints;
  if (plan.fronted) {
    link(pick(fronted_conjunctions()));
  }
  for (int rest = plan.clauses - 1; rest >= 0; --rest) {
    const int part = share(left, one, {rest * one.min, rest * one.max});
    clause(part);
    left -= part;
    if (rest > 0) {
      link(plan.fronted ? Link{",", ","} : pick(conjunctions()));
    }
  }
  link({".", "."});
  return {fmt::format("{}", fmt::join(source_, " ")), fmt::format("{}", fmt::join(target_, " ")),
          alignment_};
}

void Derivation::clause(int length) {
  Slot slot{.kinds = living, .pronoun = true, .relative = true};
  const int subject_length =
      share(length, noun_phrase_range(slot), verb_phrase_range(/*nested=*/false));
  const int rest = length - subject_length;
  if (copular_length(rest)) {
    slot.kinds = any;
  }
  const Agreement subject = noun_phrase(subject_length, slot);
  verb_phrase(rest, subject, /*nested=*/false);
}

Derivation::Range Derivation::noun_phrase_range(const Slot& slot) {
  return {(slot.kinds & person) != 0 ? 1 : 2,
          slot.relative ? longest_head + 1 + longest_relative : longest_head};
}

Derivation::Range Derivation::verb_phrase_range(bool nested) {
  const Range object = noun_phrase_range({.kinds = any, .relative = !nested});
  return {1, longest_verb_group + object.max + longest_prepositional};
}

Derivation::Agreement Derivation::noun_phrase(int length, const Slot& slot) {
  if (length == 1) {
    return name_or_pronoun(slot.pronoun);
  }
  // The shortest relative clause makes four words: "a boy who sleeps".
  const bool relative = length > longest_head || (length == 4 && slot.relative && coin());
  if (!relative) {
    return determined_noun(length, slot);
  }
  const int head_length = share(length - 1, {2, longest_head}, {1, longest_relative});
  const int body = length - 1 - head_length;
  Slot head_slot = slot;
  if (body == 1) {
    head_slot.kinds &= living;  // a thing does nothing
  }
  const Agreement head = determined_noun(head_length, head_slot);
  relative_clause(body, head);
  return head;
}

Derivation::Agreement Derivation::name_or_pronoun(bool pronoun) {
  if (pronoun && generator_.below(3) == 0) {
    const Pronoun& choice = pick(pronouns());
    translate(choice.target, {say(choice.source)});
    return {Gender::masculine, choice.person, person};
  }
  const Name& name = pick(names());
  translate(name.text, {say(name.text)});
  return {name.gender, Person::third_singular, person};
}

// The small red car: la petite voiture rouge.
Derivation::Agreement Derivation::determined_noun(int length, const Slot& slot) {
  const Noun& noun = pick(nouns(), [&](const Noun& n) { return (n.kind & slot.kinds) != 0; });
  const Agreement agreement = {noun.gender, coin() ? Person::third_plural : Person::third_singular,
                               noun.kind};
  const int number = plural(agreement.person);
  const auto form = [&](const Determiner& determiner) {
    return number == 1 ? determiner.plural : determiner.singular[index(noun.gender)];
  };
  const Determiner& determiner = pick(determiners(), [&](const Determiner& d) {
    return !form(d).empty() && (d.definite || !slot.definite);
  });
  const bool before = length == 4 || (length == 3 && coin());
  const bool after = length == 4 || (length == 3 && !before);

  translate(form(determiner), {say(determiner.source)});
  if (before) {
    adjective(pick_adjective(adjectives_before(), noun.kind), agreement);
  }
  const Adjective* moved = after ? &pick_adjective(adjectives_after(), noun.kind) : nullptr;
  const int moved_position = after ? say(moved->source) : -1;
  translate(noun.target[number], {say(noun.source[number])});
  if (after) {
    translate(moved->target[index(noun.gender)][number], {moved_position});
  }
  return agreement;
}

void Derivation::relative_clause(int body, const Agreement& head) {
  const bool can_be_subject = (head.kind & living) != 0 || copular_length(body);
  const bool can_be_object = body >= 2;
  if (can_be_subject && (!can_be_object || coin())) {
    link({(head.kind & person) != 0 ? "who" : "that", "qui"});
    verb_phrase(body, head, /*nested=*/true);
    return;
  }
  link({"that", "que"});
  const Slot slot{.kinds = living, .definite = true, .pronoun = true};
  const int subject_length = share(body, noun_phrase_range(slot), {1, longest_verb_group});
  const Agreement subject = noun_phrase(subject_length, slot);
  verb_group(body - subject_length, pick(transitive_verbs()), subject.person);
}

void Derivation::verb_phrase(int length, const Agreement& subject, bool nested) {
  const bool lifeless_subject = (subject.kind & living) == 0;
  const bool can_be_copular = copular_length(length) && third_person(subject.person);
  if (lifeless_subject || (can_be_copular && coin())) {
    copular(length, subject);
    return;
  }
  const bool can_be_intransitive = length <= longest_verb_group + longest_prepositional;
  const bool can_be_transitive = length >= 2;
  if (can_be_intransitive && (!can_be_transitive || generator_.below(3) == 0)) {
    intransitive(length, subject);
  } else {
    transitive(length, subject, nested);
  }
}

void Derivation::copular(int length, const Agreement& subject) {
  const int number = plural(subject.person);
  const bool negated = length == 4 && coin();
  const Copula& verb = negated || coin() ? to_seem() : to_be();
  if (negated) {
    const int aux = say(number == 1 ? "do" : "does");
    const int negation = say("not");
    translate("ne", {aux, negation});
    translate(verb.target[number], {say("seem")});
    translate("pas", {negation});
  } else {
    translate(verb.target[number], {say(verb.source[number])});
  }
  // Of two adjectives one is of either kind, so that they never contradict each other.
  const bool two = length == 4 && !negated;
  const bool first_before = two || coin();
  adjective(pick_adjective(first_before ? adjectives_before() : adjectives_after(), subject.kind),
            subject);
  if (two) {
    link({"and", "et"});
    adjective(pick_adjective(adjectives_after(), subject.kind), subject);
  }
}

void Derivation::intransitive(int length, const Agreement& subject) {
  // What the verb group leaves is nothing, or a prepositional phrase of two words or more.
  const int least = std::max(1, length - longest_prepositional);
  int group = between({least, std::min(length, longest_verb_group)});
  if (length - group == 1) {
    group = length > longest_verb_group ? group - 1 : length;
  }
  verb_group(group, pick(intransitive_verbs()), subject.person);
  if (length > group) {
    prepositional_phrase(length - group);
  }
}

void Derivation::transitive(int length, const Agreement& subject, bool nested) {
  Slot slot{.kinds = any, .relative = !nested};
  const Range group_range = {1, longest_verb_group};
  const Range object_range = noun_phrase_range(slot);
  const int least = length - group_range.max - object_range.max;
  const int most = std::min(length - group_range.min - object_range.min, longest_prepositional);
  int prepositional = 0;
  if (least > 0 || (most >= 2 && coin())) {
    prepositional = between({std::max(2, least), most});
  }
  const int group = share(length - prepositional, group_range, object_range);
  verb_group(group, pick(transitive_verbs()), subject.person);
  slot.definite = group >= 3;  // negated
  noun_phrase(length - prepositional - group, slot);
  if (prepositional > 0) {
    prepositional_phrase(prepositional);
  }
}

// 1: sees, 2: often sees, 3: does not see, 4: does not often see.
void Derivation::verb_group(int length, const Verb& verb, Person subject) {
  const bool negated = length >= 3;
  const bool adverb = length == 2 || length == 4;
  const bool third_singular = subject == Person::third_singular;
  const int aux = negated ? say(third_singular ? "does" : "do") : -1;
  const int negation = negated ? say("not") : -1;
  const int often = adverb ? say("often") : -1;
  const int head = say(third_singular && !negated ? verb.third_singular : verb.base);
  if (negated) {
    translate("ne", {aux, negation});
  }
  translate(verb.target[static_cast<int>(subject)], {head});
  if (negated) {
    translate("pas", {negation});
  }
  if (adverb) {
    translate("souvent", {often});
  }
}

void Derivation::prepositional_phrase(int length) {
  struct Preposition {
    Link words;
    Kinds objects;
  };
  static constexpr Preposition prepositions[] = {
      {{"in", "dans"}, place}, {{"with", "avec"}, living}, {{"behind", "derrière"}, any}};
  const int rest = length - 1;
  const Preposition& preposition =
      pick(std::span<const Preposition>(prepositions), [&](const Preposition& candidate) {
        return rest >= noun_phrase_range({.kinds = candidate.objects}).min;
      });
  link(preposition.words);
  noun_phrase(rest, {.kinds = preposition.objects});
}

void Derivation::adjective(const Adjective& adjective, const Agreement& noun) {
  translate(adjective.target[index(noun.gender)][plural(noun.person)], {say(adjective.source)});
}

void Derivation::link(const Link& link) { translate(link.target, {say(link.source)}); }

int Derivation::say(std::string_view word) {
  source_.push_back(word);
  return static_cast<int>(source_.size()) - 1;
}

void Derivation::translate(std::string_view word, std::initializer_list<int> positions) {
  target_.push_back(word);
  alignment_.emplace_back(positions);
}

int Derivation::between(Range range) {
  HEED_ASSERT(range.min <= range.max, "{} to {}", range.min, range.max);
  return range.min + static_cast<int>(generator_.below(range.max - range.min + 1));
}

int Derivation::share(int total, Range first, Range rest) {
  return between({std::max(first.min, total - rest.max), std::min(first.max, total - rest.min)});
}

template <typename T, typename Fits>
const T& Derivation::pick(std::span<const T> items, Fits fits) {
  const auto count = static_cast<uint64_t>(std::ranges::count_if(items, fits));
  HEED_ASSERT(count > 0, "nothing fits");
  uint64_t choice = generator_.below(count);
  const auto chosen =
      std::ranges::find_if(items, [&](const T& item) { return fits(item) && choice-- == 0; });
  return *chosen;
}

const Adjective& Derivation::pick_adjective(std::span<const Adjective> adjectives, Kinds kind) {
  return pick(adjectives, [&](const Adjective& item) { return (item.kinds & kind) != 0; });
}

}  // namespace heed::data::grammar
