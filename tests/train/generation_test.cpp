#include "train/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/functions.h"
#include "core/error.h"
#include "core/logging.h"
#include "data/text_corpus.h"

namespace heed::train {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view text = "the cat sat on the mat\nthe dog sat on the log\n";

// Untrained: its weights are as good as any for what is tested here.
LanguageModel small_model(const std::vector<std::string>& overrides = {},
                          std::string_view learned = text) {
  std::vector<std::string> all = {"model.kind=causal_lm", "model.width=8", "model.layers=2",
                                  "model.heads=2", "model.context=8"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  LanguageModel model;
  model.config = parse_config("", "small", all);
  model.text = build_text_side(model.config, {"a text", std::string(learned)});
  Generator generator(3);
  model.model = make_causal_lm(model.config, model.text.vocabulary.size(), generator);
  for (const auto& [name, parameter] : model.model->named_parameters()) {
    if (parameter.rank() == 2) {  // GPT-2's small first weights would make all tokens alike
      const NoGradScope no_grad;
      parameter.set_data(parameter.detach() * 15.0);
    }
  }
  return model;
}

std::vector<int32_t> generated(LanguageModel& model, const std::string& prompt,
                               const GenerationOptions& options, uint64_t seed) {
  std::vector<int32_t> ids;
  Generator generator(seed);
  generate(model, encode_prompt(model, prompt), options, generator,
           [&](int32_t id) { ids.push_back(id); });
  return ids;
}

GenerationOptions options_for(const LanguageModel& model, int64_t tokens) {
  GenerationOptions options = generation_options(model.config.decode);
  options.tokens = tokens;
  return options;
}

template <typename Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

class Generation : public testing::Test {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  void TearDown() override { log::set_level(log::Level::info); }
};

TEST_F(Generation, TheSameSeedGivesTheSameText) {
  LanguageModel model = small_model();
  const auto options = options_for(model, 30);
  const auto first = generated(model, "the ", options, 5);
  EXPECT_EQ(first.size(), 30U);
  EXPECT_EQ(generated(model, "the ", options, 5), first);
  EXPECT_NE(generated(model, "the ", options, 6), first);
  EXPECT_EQ(generated(model, "the ", options_for(model, 10), 5),
            std::vector<int32_t>(first.begin(), first.begin() + 10))
      << "fewer tokens are the beginning of more";
  for (const int32_t id : first) {
    EXPECT_GE(id, data::Vocabulary::special_count) << "no special token is written";
  }
}

// Temperature 0, held to forward passes without a cache over what is in view.
TEST_F(Generation, GreedyIsTheLikeliestTokenInView) {
  LanguageModel model = small_model();
  GenerationOptions options = options_for(model, 20);
  options.sampling.temperature = 0;
  const std::string prompt = "sat";
  const auto ids = generated(model, prompt, options, 1);
  const nn::EvaluationScope evaluation(*model.model);
  std::vector<int32_t> view = encode_prompt(model, prompt);
  for (const int32_t id : ids) {
    if (view.size() > 8) {
      view.erase(view.begin(), view.end() - 4);  // the latter half of the context
    }
    const auto width = static_cast<int64_t>(view.size());
    const auto logits =
        model.model->forward(Tensor::from_vector(view, {1, width})).to_vector<float>();
    const std::vector<float> last(logits.end() - model.text.vocabulary.size(), logits.end());
    EXPECT_EQ(choices(last, options.sampling).front().id, id);
    view.push_back(id);
  }
}

TEST_F(Generation, TopKOfOneIsGreedy) {
  LanguageModel model = small_model();
  GenerationOptions greedy = options_for(model, 12);
  greedy.sampling.temperature = 0;
  GenerationOptions narrow = options_for(model, 12);
  narrow.sampling.top_k = 1;
  EXPECT_EQ(generated(model, "cat", narrow, 1), generated(model, "cat", greedy, 2));
}

TEST_F(Generation, AnEmptyPromptBeginsALine) {
  const LanguageModel lines = small_model();
  EXPECT_THAT(encode_prompt(lines, ""), ElementsAre(lines.text.vocabulary.id("\n")));
  const LanguageModel one_line_only = small_model({}, "aabaa");
  EXPECT_THAT(encode_prompt(one_line_only, ""), ElementsAre(4));
  EXPECT_EQ(one_line_only.text.vocabulary.token(4), "a");
}

TEST_F(Generation, UnknownCharactersAreNamed) {
  const LanguageModel model = small_model();
  EXPECT_EQ(refusal([&] { encode_prompt(model, "the é"); }),
            "[generate] the prompt holds 'é', which is not in the model's vocabulary; it knows 14 "
            "characters: \\n acdeghlmnost");
  EXPECT_EQ(
      refusal([&] { encode_prompt(model, "\t"); }),
      "[generate] the prompt holds '\\t', which is not in the model's vocabulary; it knows 14 "
      "characters: \\n acdeghlmnost");
  EXPECT_EQ(refusal([&] { encode_prompt(model, "\x01"); }),
            "[generate] the prompt holds 0x01, which is not in the model's vocabulary; it knows 14 "
            "characters: \\n acdeghlmnost");
  const LanguageModel words = small_model({"data.tokenizer=word"});
  EXPECT_EQ(refusal([&] { encode_prompt(words, "the bird"); }),
            "[generate] the prompt holds 'bird', which is not in the model's vocabulary; it knows "
            "8 tokens");
  EXPECT_EQ(refusal([&] { encode_prompt(words, " "); }),
            "[generate] the prompt ' ' holds no token of a word tokenizer; give it text, or leave "
            "it out");
}

TEST_F(Generation, APromptThatMayNotSlideHasToFit) {
  LanguageModel model = small_model({"decode.on_overflow=refuse"});
  const std::string nine = "the cat s";
  EXPECT_EQ(refusal([&] { generated(model, nine, options_for(model, 1), 1); }),
            "[generate] the prompt has 9 tokens, the model sees 8 (model.context); shorten it, "
            "or let the text slide (--on-overflow slide)");
  EXPECT_EQ(generated(model, "the cat ", options_for(model, 1), 1).size(), 1U);
}

TEST_F(Generation, OfALongPromptTheLastPartIsRead) {
  LanguageModel model = small_model();
  const auto options = options_for(model, 20);
  EXPECT_EQ(generated(model, "a dog on the cat ", options, 1),
            generated(model, "the cat ", options, 1));
}

TEST_F(Generation, SlidesOrRefuses) {
  LanguageModel model = small_model({"decode.on_overflow=refuse"});
  EXPECT_EQ(refusal([&] { generated(model, "cat", options_for(model, 7), 1); }),
            "[generate] 7 tokens after a prompt of 3 outgrow model.context = 8; ask for at most 6, "
            "or let the text slide (--on-overflow slide)");
  EXPECT_EQ(refusal([&] { generated(model, "cat", options_for(model, INT64_MAX), 1); }),
            "[generate] 9223372036854775807 tokens after a prompt of 3 outgrow model.context = 8; "
            "ask for at most 6, or let the text slide (--on-overflow slide)");
  EXPECT_EQ(generated(model, "cat", options_for(model, 6), 1).size(), 6U);
  // Positions without a table slide alike: the model was trained on no longer texts.
  LanguageModel rotary = small_model({"model.positions=rotary"});
  EXPECT_EQ(generated(rotary, "cat", options_for(rotary, 40), 1).size(), 40U);
}

TEST_F(Generation, SamplesLeaveNothingBehind) {
  LanguageModel model = small_model();
  Generator one(4);
  Generator two(4);
  const RandomState before = default_generator().state();
  const std::string sample = sample_text(model, 25, one);
  EXPECT_EQ(sample_text(model, 25, two), sample);
  EXPECT_EQ(sample.size(), 25U);
  EXPECT_EQ(default_generator().state(), before);
  EXPECT_EQ(one_line("a\n\nb"), "a↵↵b");
}

}  // namespace
}  // namespace heed::train
