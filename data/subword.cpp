#include "data/subword.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cstdlib>
#include <unordered_map>

#include "core/error.h"
#include "core/logging.h"
#include "data/subword_model.h"
#include "data/utf8.h"

namespace heed::data {
namespace {

class Sentences final : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& texts) : texts_(texts) {}
  bool done() const override { return next_ == texts_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return texts_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& texts_;
  size_t next_ = 0;
};

class SubwordTokenizer final : public Tokenizer {
 public:
  SubwordTokenizer(const std::string& model, bool lowercase)
      : model_(model), lowercase_(lowercase) {
    check_subword_model(model);
    const auto status = processor_.LoadFromSerializedProto(model);
    HEED_CHECK_INPUT(status.ok(), "data", "this is no SentencePiece model: {}", status.ToString());
  }

  std::vector<std::string> encode(std::string_view text) const override {
    std::vector<std::string> pieces;
    const std::string prepared = lowercase_ ? lower_case(text) : std::string(text);
    const auto status = processor_.Encode(prepared, &pieces);
    HEED_CHECK(status.ok(), "data", "SentencePiece could not encode a text: {}", status.ToString());
    return pieces;
  }
  std::string decode(const std::vector<std::string>& pieces) const override {
    std::string text;
    const auto status = processor_.Decode(pieces, &text);
    HEED_CHECK(status.ok(), "data", "SentencePiece could not decode a text: {}", status.ToString());
    return text;
  }
  std::string state() const override {
    return fmt::format("subword {}\n{}", lowercase_ ? "lower" : "as-is", model_);
  }
  int64_t piece_count() const override { return processor_.GetPieceSize(); }

 private:
  std::string model_;
  bool lowercase_;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::string train_subword_model(const std::vector<std::string>& texts, const std::string& name,
                                int64_t pieces, bool exact) {
  // hard_vocab_limit off: a small text gives fewer pieces instead of an error. One thread, so that
  // the same text gives the same model. (As a map: given a string, the library logs it.)
  const std::unordered_map<std::string, std::string> arguments = {
      {"vocab_size", std::to_string(pieces)},
      {"model_type", "unigram"},
      {"character_coverage", "1.0"},
      {"hard_vocab_limit", "false"},
      {"num_threads", "1"},
      {"normalization_rule_name", exact ? "identity" : "nmt_nfkc"},
      {"remove_extra_whitespaces", exact ? "false" : "true"},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"minloglevel", "2"}};
  std::string model;
  Sentences sentences(texts);
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &sentences, &model);
  // "... smaller than required_chars. 16 vs 24. ..."
  const std::string reason = status.ToString();
  if (const size_t versus = reason.find(" vs "); reason.find("required_chars") < versus) {
    const int64_t least = std::strtoll(reason.c_str() + versus + 4, nullptr, 10);
    HEED_CHECK_INPUT(least <= pieces, "data",
                     "data.subword_size = {} is fewer than the characters of {}: at least {} is "
                     "needed",
                     pieces, name, least);
  }
  HEED_CHECK_INPUT(status.ok(), "data",
                   "no subword model of {} pieces could be trained on {} sentences of {}: {}; try "
                   "another data.subword_size",
                   pieces, texts.size(), name, reason);
  return model;
}

std::unique_ptr<Tokenizer> make_subword_tokenizer(const std::string& model, bool lowercase) {
  return std::make_unique<SubwordTokenizer>(model, lowercase);
}

}  // namespace heed::data
