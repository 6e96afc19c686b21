#pragma once

#include <array>
#include <span>
#include <string_view>

// The words of the built-in English-French corpus. They are chosen so that no French word begins
// with a vowel or a mute h (nothing elides), except "est", which the derivation keeps clear of
// "ne"; and "un(e)", which it keeps clear of "que"; and so that English fixes gender and number.
namespace heed::data::grammar {

enum class Gender { masculine, feminine };

// Person and number of a subject, in the order of the verb tables.
enum class Person { i, third_singular, we, third_plural };

// What a noun stands for, as bits, so that words can say what they go with.
using Kinds = unsigned;
inline constexpr Kinds person = 1;
inline constexpr Kinds animal = 2;
inline constexpr Kinds thing = 4;
inline constexpr Kinds place = 8;
inline constexpr Kinds living = person | animal;
inline constexpr Kinds lifeless = thing | place;
inline constexpr Kinds any = living | lifeless;

struct Noun {
  std::array<std::string_view, 2> source;  // singular, plural
  std::array<std::string_view, 2> target;
  Gender gender;
  Kinds kind;
};

// The target is empty where the determiner does not take the number.
struct Determiner {
  std::string_view source;
  std::array<std::string_view, 2> singular;  // by gender
  std::string_view plural;
  bool definite;  // may follow "que" and stand in a negated object (where "un" would turn to "de")
};

struct Adjective {
  std::string_view source;
  std::array<std::array<std::string_view, 2>, 2> target;  // by gender, then singular, plural
  Kinds kinds;
};

struct Verb {
  std::string_view base;                   // see
  std::string_view third_singular;         // sees
  std::array<std::string_view, 4> target;  // by Person
};

struct Name {
  std::string_view text;  // the same in both languages
  Gender gender;
};

struct Pronoun {
  std::string_view source;
  std::string_view target;
  Person person;
};

// "is" and "seems": third person only. The first is never negated ("ne est" would elide).
struct Copula {
  std::array<std::string_view, 2> source;  // singular, plural
  std::array<std::string_view, 2> target;
};

struct Link {
  std::string_view source;
  std::string_view target;
};

std::span<const Noun> nouns();
std::span<const Determiner> determiners();
std::span<const Adjective> adjectives_before();  // before the noun in French too
std::span<const Adjective> adjectives_after();
std::span<const Verb> transitive_verbs();
std::span<const Verb> intransitive_verbs();
std::span<const Name> names();
std::span<const Pronoun> pronouns();
std::span<const Link> conjunctions();          // between two clauses
std::span<const Link> fronted_conjunctions();  // "when ..., ..."
const Copula& to_be();
const Copula& to_seem();

}  // namespace heed::data::grammar
