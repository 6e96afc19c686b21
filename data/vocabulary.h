#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/export.h"

namespace heed::data {

// How often each token was seen.
using TokenCounts = std::unordered_map<std::string, int64_t>;

// Tokens and their ids. The first four are fixed.
class HEED_EXPORT Vocabulary {
 public:
  static constexpr int32_t padding = 0;
  static constexpr int32_t unknown = 1;
  static constexpr int32_t start = 2;
  static constexpr int32_t end = 3;
  static constexpr int32_t special_count = 4;

  Vocabulary() : Vocabulary(std::vector<std::string>{}) {}
  // `tokens` without the special ones. Throws InputError when two are equal.
  explicit Vocabulary(std::vector<std::string> tokens);

  // Every token seen at least min_count times, most frequent first (equal ones by their bytes), at
  // most max_size with the special ones (0: no limit).
  static Vocabulary from_counts(const TokenCounts& counts, int64_t min_count, int64_t max_size);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  int32_t id(const std::string& token) const;  // `unknown` when it is not there
  const std::string& token(int32_t id) const;  // throws Error out of range
  std::vector<int32_t> encode(const std::vector<std::string>& tokens) const;
  // Leaves out padding, start and end; unknown becomes "<unk>".
  std::vector<std::string> decode(const std::vector<int32_t>& ids) const;

  // A text that holds any token, newlines and NUL included, and back. Two vocabularies are alike
  // exactly when their texts are.
  std::string state() const;
  static Vocabulary restore(const std::string& state);

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

}  // namespace heed::data
