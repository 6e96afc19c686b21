// The text that a vocabulary travels as.
#include "data/vocabulary.h"

#include "core/error.h"
#include "tests/fuzz/target.h"

namespace heed::fuzz {

using data::Vocabulary;

void read(std::string_view input) {
  const std::string state(input);
  Vocabulary vocabulary;
  try {
    vocabulary = Vocabulary::restore(state);
  } catch (const InputError&) {
    return;
  }
  demand(vocabulary.state() == state, "a vocabulary is written as it was read");
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const bool special = id < Vocabulary::special_count;
    demand(vocabulary.id(vocabulary.token(id)) == (special ? Vocabulary::unknown : id),
           "each token has its own id");
    ids.push_back(id);
  }
  demand(static_cast<int64_t>(vocabulary.decode(ids).size()) == vocabulary.size() - 3,
         "padding, start and end are left out");
}

std::vector<std::string> seeds() {
  using namespace std::string_literals;
  return {"", Vocabulary({"a", "b", "\xC3\xA9", ""}).state(),
          Vocabulary({"\n", "\0"s, "12:", "\xFF", std::string(100, 'x')}).state(), "3:<s>",
          "18446744073709551615:a"};
}

std::vector<std::string> words() {
  return {"0:", "1:", "2:", "1:a", "5:<pad>", "007:", "+1:", "-1:", "18446744073709551616:"};
}

}  // namespace heed::fuzz
