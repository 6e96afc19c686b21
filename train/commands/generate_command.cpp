#include <fmt/core.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "data/text_corpus.h"
#include "data/utf8.h"
#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/generation.h"
#include "train/run_folder.h"
#include "train/streams.h"

namespace heed::train {
namespace {

struct Options {
  std::string run;
  std::string prompt;
  int64_t tokens = 256;
  int64_t samples = 1;
  std::optional<double> temperature;
  std::optional<int64_t> top_k;
  std::optional<double> top_p;
  std::optional<int64_t> seed;
  std::optional<std::string> on_overflow;
  MachineFlags machine;
};

// The run's config with what the command line says.
Config with_flags(Config config, const Options& options) {
  set_key(config, "decode.temperature", "--temperature", options.temperature);
  set_key(config, "decode.top_k", "--top-k", options.top_k);
  set_key(config, "decode.top_p", "--top-p", options.top_p);
  set_key(config, "decode.on_overflow", "--on-overflow", options.on_overflow);
  set_key(config, "run.seed", "--seed", options.seed);
  return config;
}

std::string prompt_of(const Options& options) {
  std::string prompt = options.prompt;
  if (prompt == "-") {
    prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
    check_standard_input("generate");
  }
  const auto invalid = data::invalid_utf8_position(prompt);
  HEED_CHECK_INPUT(!invalid, "generate", "byte {} of the prompt, 0x{:02X}, is no UTF-8",
                   *invalid + 1, static_cast<unsigned char>(prompt[*invalid]));
  return prompt;
}

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void run_generate(const Options& options) {
  check_option("--tokens", options.tokens, {.low = 1});
  check_option("--samples", options.samples, {.low = 1});
  options.machine.apply();
  LanguageModel language_model = restore_language_model(load_trained(options.run));
  const Config config = with_flags(language_model.config, options);
  GenerationOptions generation = generation_options(config.decode);
  generation.tokens = options.tokens;
  const std::string prompt = prompt_of(options);
  const std::vector<int32_t> ids = encode_prompt(language_model, prompt);
  Generator generator = generator_of(config.run.seed, Stream::sampling);
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    write(sample > 0 ? "---\n" : "");
    // The prompt is shown in the model's tokens, once it has been found to fit.
    data::TextStream stream(*language_model.text.tokenizer);
    std::string shown;
    for (const int32_t id : prompt.empty() ? std::vector<int32_t>{} : ids) {
      shown += stream.add(language_model.text.vocabulary.token(id));
    }
    generate(language_model, ids, generation, generator, [&](int32_t id) {
      shown += stream.add(language_model.text.vocabulary.token(id));
      write(shown);
      shown.clear();
    });
    write("\n");
  }
}

}  // namespace

void add_generate_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("generate", "Let a trained language model go on with a text");
  command->footer(
      "Prints the prompt and what follows, token by token. Without a prompt the text begins after\n"
      "a line feed (or the most frequent token, where the vocabulary has none). The same seed\n"
      "gives the same text. Settings that are not given come from the run's [decode] section.\n\n"
      "  heed generate runs/char_lm --prompt 'class ' --tokens 500\n"
      "  heed generate runs/char_lm --temperature 0.8 --top-k 20 --seed 7\n"
      "  head -c 60 poem.txt | heed generate runs/char_lm --prompt -");
  command->add_option("RUN", options->run, "A run folder or a checkpoint file")
      ->required()
      ->type_name("");
  command->add_option("--prompt", options->prompt, "How the text begins; - = standard input")
      ->type_name("TEXT");
  command->add_option("--tokens", options->tokens, "How many tokens to add (default: 256)")
      ->type_name("N");
  command
      ->add_option("--samples", options->samples,
                   "Texts, one after another, lines of --- between them (default: 1)")
      ->type_name("N");
  command
      ->add_option("--temperature", options->temperature,
                   "Logits are divided by it; 0 = always the likeliest token")
      ->type_name("T");
  command->add_option("--top-k", options->top_k, "Draw among the K likeliest tokens; 0 = among all")
      ->type_name("K");
  command
      ->add_option("--top-p", options->top_p,
                   "Draw among the likeliest tokens that together hold this probability")
      ->type_name("P");
  command->add_option("--seed", options->seed, "Seed of the draws (default: the run's)")
      ->type_name("N");
  command
      ->add_option("--on-overflow", options->on_overflow,
                   "When the text outgrows the context, keep its latter half, or refuse")
      ->type_name("slide|refuse");
  options->machine.add_to(*command);
  command->callback([options] { run_generate(*options); });
}

}  // namespace heed::train
