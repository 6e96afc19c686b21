#include "data/subword_model.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "core/error.h"
#include "data/utf8.h"

namespace heed::data {
namespace {

void require(bool holds, std::string_view what) {
  HEED_CHECK_INPUT(holds, "data", "this is no SentencePiece model of heed: {}", what);
}

// One field of a protocol buffer's message.
struct Field {
  uint64_t number;
  enum class Kind { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 } kind;
  uint64_t value;          // of a varint
  std::string_view bytes;  // of the others
};

class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }

  Field next() {
    const uint64_t key = varint();
    Field field{key >> 3, static_cast<Field::Kind>(key & 7), 0, {}};
    require(field.number > 0 && field.number < uint64_t{1} << 29, "a field has no number");
    switch (field.kind) {
      case Field::Kind::varint:
        field.value = varint();
        break;
      case Field::Kind::fixed64:
        field.bytes = take(8);
        break;
      case Field::Kind::bytes:
        field.bytes = take(varint());
        break;
      case Field::Kind::fixed32:
        field.bytes = take(4);
        break;
      default:
        require(false, "a field has an unknown kind");
    }
    return field;
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    require(false, "a number does not end");
    return 0;
  }
  std::string_view take(uint64_t count) {
    require(count <= rest_.size(), "it is cut short");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

// Every field of the message: one that is there twice is checked twice.
void for_each_field(std::string_view message, const std::function<void(const Field&)>& check) {
  for (Message fields(message); !fields.done();) {
    check(fields.next());
  }
}

std::string_view bytes_of(const Field& field) {
  require(field.kind == Field::Kind::bytes, "a text or message is missing");
  return field.bytes;
}
uint64_t number_of(const Field& field) {
  require(field.kind == Field::Kind::varint, "a number is missing");
  return field.value;
}

uint32_t word(std::string_view bytes, size_t index) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + 4 * index, sizeof(value));
  return value;
}

// The table of a normalisation: four bytes with the size of a double-array trie (Darts-clone), the
// trie, and the texts, each ended by NUL, that its leaves point to. A unit of the trie is 32 bits:
// bit 31 marks a leaf, whose other bits are its value; else bits 10.. are an offset, shifted by 8
// when bit 9 is set, and bit 8 says that a leaf stands where the offset leads. The children of unit
// i are at (i xor offset) xor label, for labels of 8 bits.
void check_charsmap(std::string_view map) {
  if (map.empty()) {
    return;
  }
  constexpr std::string_view leaves = "its normalisation table leaves itself";
  require(map.size() >= 4, leaves);
  const size_t trie_bytes = word(map, 0);
  require(trie_bytes <= map.size() - 4 && trie_bytes % 4 == 0 && trie_bytes > 0, leaves);
  const std::string_view trie = map.substr(4, trie_bytes);
  const std::string_view texts = map.substr(4 + trie_bytes);
  require(!texts.empty() && texts.back() == '\0', leaves);
  const size_t units = trie.size() / 4;
  for (size_t i = 0; i < units; ++i) {
    const uint32_t unit = word(trie, i);
    if (unit >> 31 != 0) {
      require(i > 0, leaves);
      continue;
    }
    const size_t children = i ^ size_t { unit >> 10 } << (unit >> 6 & 8);
    require((children | 0xFF) < units, leaves);
    if ((unit >> 8 & 1) != 0) {
      require((word(trie, children) & 0x7FFFFFFF) < texts.size(), leaves);
    }
  }
}

void check_piece(std::string_view message, bool first) {
  std::string_view text;
  uint64_t type = 1;
  for_each_field(message, [&](const Field& field) {
    if (field.number == 1) {
      text = bytes_of(field);
    } else if (field.number == 2) {
      require(field.kind == Field::Kind::fixed32, "a score is missing");
      float score = 0;
      std::memcpy(&score, field.bytes.data(), sizeof(score));
      require(std::isfinite(score), "a score is not finite");
    } else if (field.number == 3) {
      type = number_of(field);
    }
  });
  require(
      !text.empty() && text.find('\0') == std::string_view::npos && !invalid_utf8_position(text),
      "a piece is no text");
  require(type == (first ? 2 : 1), "the first piece is the unknown one, the others are normal");
}

void check_trainer(std::string_view message) {
  constexpr uint64_t unigram = 1;
  for_each_field(message, [&](const Field& field) {
    require(field.number != 3 || number_of(field) == unigram, "its type is not unigram");
  });
}

void check_normalizer(std::string_view message) {
  for_each_field(message, [](const Field& field) {
    if (field.number == 2) {
      check_charsmap(bytes_of(field));
    }
  });
}

}  // namespace

// sentencepiece_model.proto.
void check_subword_model(std::string_view model) {
  bool first = true;
  for_each_field(model, [&](const Field& field) {
    switch (field.number) {
      case 1:
        check_piece(bytes_of(field), first);
        first = false;
        break;
      case 2:
        check_trainer(bytes_of(field));
        break;
      case 3:
      case 5:
        check_normalizer(bytes_of(field));
        break;
      default:
        break;
    }
  });
  require(!first, "it has no pieces");
}

}  // namespace heed::data
