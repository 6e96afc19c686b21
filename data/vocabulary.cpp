#include "data/vocabulary.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace heed::data {

Vocabulary::Vocabulary(std::vector<std::string> tokens) : tokens_{"<pad>", "<unk>", "<s>", "</s>"} {
  tokens_.insert(tokens_.end(), std::make_move_iterator(tokens.begin()),
                 std::make_move_iterator(tokens.end()));
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const bool fresh = ids_.emplace(tokens_[i], static_cast<int32_t>(i)).second;
    HEED_CHECK_INPUT(fresh, "vocabulary", "the token '{}' is there twice", tokens_[i]);
  }
}

Vocabulary Vocabulary::from_counts(const TokenCounts& counts, int64_t min_count, int64_t max_size) {
  const Vocabulary special;
  std::vector<std::pair<std::string, int64_t>> order;
  for (const auto& [token, count] : counts) {
    // A corpus may hold the text "<s>": it is no word then, but unknown.
    if (count >= min_count && !special.ids_.contains(token)) {
      order.emplace_back(token, count);
    }
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (max_size > 0 && static_cast<int64_t>(order.size()) + special_count > max_size) {
    order.resize(static_cast<size_t>(std::max<int64_t>(0, max_size - special_count)));
  }
  std::vector<std::string> tokens;
  for (auto& [token, count] : order) {
    tokens.push_back(std::move(token));
  }
  return Vocabulary(std::move(tokens));
}

int32_t Vocabulary::id(const std::string& token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() || found->second < special_count ? unknown : found->second;
}

const std::string& Vocabulary::token(int32_t id) const {
  HEED_CHECK(id >= 0 && id < size(), "vocabulary", "id {} is not within 0 .. {}", id, size() - 1);
  return tokens_[static_cast<size_t>(id)];
}

std::vector<int32_t> Vocabulary::encode(const std::vector<std::string>& tokens) const {
  std::vector<int32_t> ids;
  ids.reserve(tokens.size());
  for (const std::string& token : tokens) {
    ids.push_back(id(token));
  }
  return ids;
}

std::vector<std::string> Vocabulary::decode(const std::vector<int32_t>& ids) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    if (id != padding && id != start && id != end) {
      tokens.push_back(token(id));
    }
  }
  return tokens;
}

std::string Vocabulary::state() const {
  // Each token with its length in bytes before it.
  std::string state;
  for (size_t i = special_count; i < tokens_.size(); ++i) {
    state += fmt::format("{}:{}", tokens_[i].size(), tokens_[i]);
  }
  return state;
}

Vocabulary Vocabulary::restore(const std::string& state) {
  std::vector<std::string> tokens;
  const char* at = state.data();
  const char* const last = state.data() + state.size();
  while (at < last) {
    size_t length = 0;
    const auto [after, failure] = std::from_chars(at, last, length);
    const bool whole = failure == std::errc() && after < last && *after == ':' &&
                       (*at != '0' || after == at + 1) &&
                       length <= static_cast<size_t>(last - after - 1);
    HEED_CHECK_INPUT(whole, "vocabulary", "this is no vocabulary: byte {} is no token's length",
                     at - state.data());
    tokens.emplace_back(after + 1, length);
    at = after + 1 + length;
  }
  return Vocabulary(std::move(tokens));
}

}  // namespace heed::data
