#include "data/grammar_lexicon.h"

namespace heed::data::grammar {
namespace {

constexpr auto masculine = Gender::masculine;
constexpr auto feminine = Gender::feminine;

constexpr Noun noun_table[] = {
    {{"boy", "boys"}, {"garçon", "garçons"}, masculine, person},
    {{"king", "kings"}, {"roi", "rois"}, masculine, person},
    {{"girl", "girls"}, {"fille", "filles"}, feminine, person},
    {{"queen", "queens"}, {"reine", "reines"}, feminine, person},
    {{"cat", "cats"}, {"chat", "chats"}, masculine, animal},
    {{"dog", "dogs"}, {"chien", "chiens"}, masculine, animal},
    {{"cow", "cows"}, {"vache", "vaches"}, feminine, animal},
    {{"hen", "hens"}, {"poule", "poules"}, feminine, animal},
    {{"book", "books"}, {"livre", "livres"}, masculine, thing},
    {{"hat", "hats"}, {"chapeau", "chapeaux"}, masculine, thing},
    {{"car", "cars"}, {"voiture", "voitures"}, feminine, thing},
    {{"flower", "flowers"}, {"fleur", "fleurs"}, feminine, thing},
    {{"garden", "gardens"}, {"jardin", "jardins"}, masculine, place},
    {{"house", "houses"}, {"maison", "maisons"}, feminine, place},
};

constexpr Determiner determiner_table[] = {
    {"the", {"le", "la"}, "les", true},  {"my", {"mon", "ma"}, "mes", true},
    {"this", {"ce", "cette"}, "", true}, {"these", {"", ""}, "ces", true},
    {"a", {"un", "une"}, "", false},     {"two", {"", ""}, "deux", false},
};

constexpr Adjective before_table[] = {
    {"small", {{{"petit", "petits"}, {"petite", "petites"}}}, any},
    {"big", {{{"grand", "grands"}, {"grande", "grandes"}}}, any},
    {"beautiful", {{{"beau", "beaux"}, {"belle", "belles"}}}, any},
    {"young", {{{"jeune", "jeunes"}, {"jeune", "jeunes"}}}, living},
};

constexpr Adjective after_table[] = {
    {"red", {{{"rouge", "rouges"}, {"rouge", "rouges"}}}, animal | lifeless},
    {"black", {{{"noir", "noirs"}, {"noire", "noires"}}}, animal | lifeless},
    {"white", {{{"blanc", "blancs"}, {"blanche", "blanches"}}}, animal | lifeless},
    {"sad", {{{"triste", "tristes"}, {"triste", "tristes"}}}, living},
    {"rich", {{{"riche", "riches"}, {"riche", "riches"}}}, person},
};

constexpr Verb transitive_table[] = {
    {"see", "sees", {"vois", "voit", "voyons", "voient"}},
    {"find", "finds", {"trouve", "trouve", "trouvons", "trouvent"}},
    {"watch", "watches", {"regarde", "regarde", "regardons", "regardent"}},
    {"draw", "draws", {"dessine", "dessine", "dessinons", "dessinent"}},
    {"guard", "guards", {"garde", "garde", "gardons", "gardent"}},
};

constexpr Verb intransitive_table[] = {
    {"sleep", "sleeps", {"dors", "dort", "dormons", "dorment"}},
    {"sing", "sings", {"chante", "chante", "chantons", "chantent"}},
    {"run", "runs", {"cours", "court", "courons", "courent"}},
    {"work", "works", {"travaille", "travaille", "travaillons", "travaillent"}},
};

constexpr Name name_table[] = {
    {"marie", feminine}, {"julie", feminine}, {"paul", masculine}, {"thomas", masculine}};

constexpr Pronoun pronoun_table[] = {{"i", "je", Person::i}, {"we", "nous", Person::we}};

constexpr Link conjunction_table[] = {
    {"and", "et"}, {"but", "mais"}, {"because", "car"}, {"when", "quand"}, {"if", "si"}};

constexpr Link fronted_table[] = {{"when", "quand"}, {"if", "si"}};

constexpr Copula be = {{"is", "are"}, {"est", "sont"}};
constexpr Copula seem = {{"seems", "seem"}, {"semble", "semblent"}};

}  // namespace

std::span<const Noun> nouns() { return noun_table; }
std::span<const Determiner> determiners() { return determiner_table; }
std::span<const Adjective> adjectives_before() { return before_table; }
std::span<const Adjective> adjectives_after() { return after_table; }
std::span<const Verb> transitive_verbs() { return transitive_table; }
std::span<const Verb> intransitive_verbs() { return intransitive_table; }
std::span<const Name> names() { return name_table; }
std::span<const Pronoun> pronouns() { return pronoun_table; }
std::span<const Link> conjunctions() { return conjunction_table; }
std::span<const Link> fronted_conjunctions() { return fronted_table; }
const Copula& to_be() { return be; }
const Copula& to_seem() { return seem; }

}  // namespace heed::data::grammar
