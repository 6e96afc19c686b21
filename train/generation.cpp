#include "train/generation.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/text_corpus.h"

namespace heed::train {
namespace {

using data::Vocabulary;

// A token so that it can be read: 'x', or its code point where there is nothing to see.
std::string visible(const std::string& token) {
  if (token == "\n") {
    return "'\\n'";
  }
  if (token == "\t") {
    return "'\\t'";
  }
  const bool control = token.size() == 1 && static_cast<unsigned char>(token[0]) < 0x20;
  return control ? fmt::format("0x{:02X}", static_cast<unsigned char>(token[0]))
                 : fmt::format("'{}'", token);
}

// What a prompt may be made of: every character where there are not too many.
std::string known_tokens(const LanguageModel& language_model) {
  const Vocabulary& vocabulary = language_model.text.vocabulary;
  constexpr int64_t most = 150;
  const int64_t count = vocabulary.size() - Vocabulary::special_count;
  if (language_model.config.data.tokenizer != "character" || count > most) {
    return fmt::format("{} tokens", count);
  }
  std::vector<std::string> tokens;
  for (int64_t id = Vocabulary::special_count; id < vocabulary.size(); ++id) {
    tokens.push_back(vocabulary.token(static_cast<int32_t>(id)));
  }
  std::ranges::sort(tokens);
  std::string text = fmt::format("{} characters: ", count);
  for (const std::string& token : tokens) {
    text += token == "\n" || token == "\t" ? visible(token).substr(1, 2) : token;
  }
  return text;
}

// The logits after the last of `ids`.
std::vector<float> logits_after(const nn::CausalLm& model, nn::DecoderState& state,
                                const std::vector<int32_t>& ids) {
  const auto count = static_cast<int64_t>(ids.size());
  return to_dtype(model.step(state, Tensor::from_vector(ids, {1, count})), DType::f32)
      .to_vector<float>();
}

}  // namespace

GenerationOptions generation_options(const DecodeConfig& decode) {
  GenerationOptions options;
  options.sampling.temperature = decode.temperature;
  options.sampling.top_k = decode.top_k;
  options.sampling.top_p = decode.top_p;
  options.sampling.never = {Vocabulary::padding, Vocabulary::unknown, Vocabulary::start,
                            Vocabulary::end};
  options.slide = decode.on_overflow == "slide";
  return options;
}

std::vector<int32_t> encode_prompt(const LanguageModel& language_model, const std::string& prompt) {
  const TextSide& side = language_model.text;
  if (prompt.empty()) {
    const int32_t line_feed = side.vocabulary.id("\n");
    return {line_feed != Vocabulary::unknown ? line_feed : Vocabulary::special_count};
  }
  std::vector<int32_t> ids;
  data::RunningText("the prompt", prompt).for_each_line([&](const data::RunningText::Line& line) {
    data::for_each_piece(*side.tokenizer, line, [&](const std::string& piece) {
      ids.push_back(side.vocabulary.id(piece));
      HEED_CHECK_INPUT(ids.back() != Vocabulary::unknown, "generate",
                       "the prompt holds {}, which is not in the model's vocabulary; it knows {}",
                       visible(piece), known_tokens(language_model));
    });
  });
  HEED_CHECK_INPUT(
      !ids.empty(), "generate",
      "the prompt '{}' holds no token of a {} tokenizer; give it text, or leave it out", prompt,
      language_model.config.data.tokenizer);
  return ids;
}

void generate(LanguageModel& language_model, const std::vector<int32_t>& prompt,
              const GenerationOptions& options, Generator& generator,
              const std::function<void(int32_t)>& token) {
  const int64_t context = language_model.config.model.context;
  const auto given = static_cast<int64_t>(prompt.size());
  HEED_CHECK(given > 0, "generate", "there is no token to start from");
  HEED_CHECK_INPUT(
      options.slide || given <= context, "generate",
      "the prompt has {} tokens, the model sees {} (model.context); shorten it, or let "
      "the text slide (--on-overflow slide)",
      given, context);
  // The last token is drawn, but not read again.
  HEED_CHECK_INPUT(options.slide || options.tokens <= context - given + 1, "generate",
                   "{} tokens after a prompt of {} outgrow model.context = {}; ask for at most {}, "
                   "or let the text slide (--on-overflow slide)",
                   options.tokens, given, context, context - given + 1);
  const nn::EvaluationScope evaluation(*language_model.model);
  const nn::CausalLm& model = *language_model.model;
  std::vector<int32_t> seen(prompt.end() - std::min(given, context), prompt.end());
  auto state = model.start(1);
  std::vector<float> logits = logits_after(model, *state, seen);
  for (int64_t i = 0; i < options.tokens; ++i) {
    const int32_t next = sample(logits, options.sampling, generator);
    token(next);
    seen.push_back(next);
    if (i + 1 == options.tokens) {
      break;
    }
    if (model.cached(*state) < context) {
      logits = logits_after(model, *state, {next});
    } else {
      seen.erase(seen.begin(), seen.end() - std::max<int64_t>(1, context / 2));
      state = model.start(1);
      logits = logits_after(model, *state, seen);
    }
  }
}

std::string sample_text(LanguageModel& language_model, int64_t tokens, Generator& generator) {
  GenerationOptions options = generation_options(language_model.config.decode);
  options.tokens = tokens;
  options.slide = true;
  data::TextStream stream(*language_model.text.tokenizer);
  std::string text;
  generate(language_model, encode_prompt(language_model, ""), options, generator,
           [&](int32_t id) { text += stream.add(language_model.text.vocabulary.token(id)); });
  return text;
}

std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    line += c == '\n' ? std::string("↵") : std::string(1, c);
  }
  return line;
}

}  // namespace heed::train
