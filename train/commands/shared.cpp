#include "train/commands/shared.h"

#include <filesystem>

#include "core/error.h"
#include "core/file.h"
#include "core/threads.h"
#include "train/config/config.h"

namespace heed::train {

void DecodingFlags::add_to(CLI::App& command, bool with_n_best) {
  command
      .add_option("--beam", beam,
                  "Hypotheses kept; 1 = greedy (default: the run's decode.beam_size)")
      ->type_name("N");
  if (with_n_best) {
    command.add_option("--n-best", n_best, "Translations of each sentence, best first")
        ->type_name("N");
  }
  command
      .add_option("--max-length", max_length, "Most tokens of a translation; 0 = 2 * source + 10")
      ->type_name("N");
  command.add_option("--min-length", min_length, "Fewest tokens of a translation")->type_name("N");
  command
      .add_option("--length-penalty", length_penalty,
                  "alpha of ((5 + length) / 6)^alpha, which scores are divided by")
      ->type_name("ALPHA");
  command.add_option("--threads", threads, "Threads; 0 = the cores this process may use")
      ->check(CLI::Range(0, 4096))
      ->type_name("N");
}

DecodeConfig with_flags(DecodeConfig decode, const DecodingFlags& flags) {
  const auto take = [](auto& target, const auto& given) {
    if (given) {
      target = *given;
    }
  };
  take(decode.beam_size, flags.beam);
  take(decode.n_best, flags.n_best);
  take(decode.max_length, flags.max_length);
  take(decode.min_length, flags.min_length);
  take(decode.length_penalty, flags.length_penalty);
  if (flags.n_best && !flags.beam) {
    decode.beam_size = std::max(decode.beam_size, *flags.n_best);
  }
  HEED_CHECK_INPUT(decode.beam_size >= 1, "heed", "--beam {} is not positive", decode.beam_size);
  HEED_CHECK_INPUT(decode.n_best >= 1 && decode.n_best <= decode.beam_size, "heed",
                   "--n-best {} is not within 1 and the beam, {}", decode.n_best, decode.beam_size);
  HEED_CHECK_INPUT(decode.max_length >= 0 && decode.min_length >= 0, "heed",
                   "--max-length {} and --min-length {} may not be negative", decode.max_length,
                   decode.min_length);
  return decode;
}

void use_threads(int64_t threads) {
  if (threads > 0) {
    set_thread_count(static_cast<int>(threads));
  }
}

CLI::Option* add_set_option(CLI::App& command, std::vector<std::string>& overrides) {
  return command
      .add_option("--set", overrides, "Override a key, such as train.steps=100; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->expected(1)
      ->take_all();
}

void write_output(const std::string& path, const std::string& content) {
  const auto parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) {
    std::error_code failure;
    std::filesystem::create_directories(parent, failure);
    HEED_CHECK(!failure, "heed", "the folder {} cannot be made: {}", parent.string(),
               failure.message());
  }
  write_file("heed", path, content);
}

}  // namespace heed::train
