#pragma once

#include <cstdint>
#include <string>

// Fields of a protocol buffer's message, to write a SentencePiece model by hand:
// sentencepiece_model.proto: pieces = 1 {piece = 1, score = 2, type = 3}, trainer_spec = 2
// {model_type = 3, byte_fallback = 35}, normalizer_spec = 3 {precompiled_charsmap = 2,
// add_dummy_prefix = 3, remove_extra_whitespaces = 4, escape_whitespaces = 5}.
namespace heed::test {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>(value | 0x80);
  }
  bytes += static_cast<char>(value);
  return bytes;
}

inline std::string little_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>(value >> shift & 0xff);
  }
  return bytes;
}

inline std::string number_field(uint64_t field, uint64_t value) {
  return varint(field << 3).append(varint(value));
}
inline std::string bytes_field(uint64_t field, const std::string& value) {
  return varint(field << 3 | 2).append(varint(value.size())).append(value);
}
inline std::string float_field(uint64_t field, uint32_t bits) {
  return varint(field << 3 | 5).append(little_endian(bits));
}

}  // namespace heed::test
