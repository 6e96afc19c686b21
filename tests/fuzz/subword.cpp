// A SentencePiece model, as a checkpoint carries it, and texts through it. An input that begins
// with 'm' is the model's bytes; every other one describes a model, so that what is well-formed as
// a protocol buffer is reached at all.
#include <cstring>

#include "core/error.h"
#include "data/tokenizer.h"
#include "tests/fuzz/target.h"
#include "tests/support/protocol_buffer.h"

namespace heed::fuzz {
namespace {

using data::Tokenizer;
using test::bytes_field;
using test::number_field;

const std::string as_is = "subword as-is\n";

std::string model(bool exact, int64_t pieces) {
  const std::vector<std::string> texts = {"a red house and a green house", "the house is red",
                                          "a green tree, a red tree", "caf\xC3\xA9 na\xC3\xAFve"};
  const auto tokenizer = data::make_tokenizer({"subword", false, pieces, exact}, texts);
  return tokenizer->state().substr(as_is.size());
}

// Takes an input apart; past its end there are zeros.
class Source {
 public:
  explicit Source(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::string take(size_t count) {
    std::string taken(bytes_.substr(0, count));
    bytes_.remove_prefix(taken.size());
    taken.resize(count);
    return taken;
  }
  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }

 private:
  std::string_view bytes_;
};

std::string described_model(std::string_view input) {
  Source source(input);
  const uint8_t options = source.byte();
  std::string model =
      bytes_field(2, number_field(3, 1 + options % 4).append(number_field(35, options >> 2 & 1)));
  std::string charsmap = source.take(source.byte() * size_t{4});
  if ((options >> 3 & 1) == 1) {
    charsmap = test::little_endian(source.byte() * 4U).append(charsmap);
  }
  model += bytes_field(3, bytes_field(2, charsmap)
                              .append(number_field(3, options >> 4 & 1))
                              .append(number_field(4, options >> 5 & 1))
                              .append(number_field(5, options >> 6 & 1)));
  while (!source.empty()) {
    const uint8_t kind = source.byte();
    std::string piece = bytes_field(1, source.take(kind >> 3 & 7));
    uint32_t score = 0xBF800000;  // -1
    if (kind >> 6 == 0) {
      const std::string bits = source.take(4);
      std::memcpy(&score, bits.data(), sizeof(score));
    }
    model +=
        bytes_field(1, piece.append(test::float_field(2, score)).append(number_field(3, kind & 7)));
  }
  return model;
}

}  // namespace

void read(std::string_view input) {
  std::unique_ptr<Tokenizer> tokenizer;
  try {
    tokenizer = data::restore_tokenizer(
        as_is + (input.starts_with('m') ? std::string(input.substr(1)) : described_model(input)));
  } catch (const InputError&) {
    return;
  }
  demand(tokenizer->piece_count() <= static_cast<int64_t>(input.size()) + 1,
         "a piece takes a byte");
  for (const char* text :
       {"", "a red house", "  caf\xC3\xA9  \xEF\xBC\xA1\xCC\x81\xE2\x81\xA2 \xFF\xE2\x82",
        "\xE2\x96\x81 <unk> </s> zzzz \xF0\x9F\x98\x80"}) {
    const std::string once = tokenizer->decode(tokenizer->encode(text));
    demand(tokenizer->decode(tokenizer->encode(text)) == once, "the same every time");
  }
}

std::vector<std::string> seeds() {
  using namespace std::string_literals;
  const auto whole = [](bool exact, int64_t pieces) {
    return std::string("m").append(model(exact, pieces));
  };
  // Each piece after 0x40 + 8 * its length + its type.
  return {whole(true, 40), whole(false, 40), whole(true, 24),
          "\x70\0j<unk>Ia"
          "QreaIeXous"s,
          "\x75\0j<unk>v<0x41>\\usec</s>Iz"s};
}

std::vector<std::string> words() {
  using namespace std::string_literals;
  // Fields of the model's protocol buffer: a piece, its text, score and type.
  return {"\x0A\x0A\x0A\x03"s, "\x15\0\0\x80\x7F"s,
          "\x15\0\0\xC0\x7F"s, "\x18\x02"s,
          "\x18\x03"s,         "\x18\x04"s,
          "\x18\x05"s,         "\x18\x06"s,
          "\x12\x02\x18\x02"s, "\x18\x01"s,
          "\x1A\0"s,           "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s,
          "\xE2\x96\x81"s,     "<0x41>"};
}

}  // namespace heed::fuzz
