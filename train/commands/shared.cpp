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
  // Of beam and n_best the one that was not asked for gives way.
  if (flags.n_best && !flags.beam) {
    decode.beam_size = std::max(decode.beam_size, *flags.n_best);
  } else if (flags.beam && !flags.n_best) {
    decode.n_best = std::min(decode.n_best, *flags.beam);
  }
  const auto check_range = [](const char* option, auto value, auto least, auto most) {
    HEED_CHECK_INPUT(value >= least && value <= most, "heed", "{} is {}, from {} to {} is expected",
                     option, value, least, most);
  };
  constexpr int64_t widest = 1000;  // as decode.beam_size
  constexpr int64_t longest = 1'000'000;
  check_range("--beam", flags.beam.value_or(1), int64_t{1}, widest);
  check_range("--n-best", flags.n_best.value_or(1), int64_t{1}, widest);
  check_range("--max-length", flags.max_length.value_or(0), int64_t{0}, longest);
  check_range("--min-length", flags.min_length.value_or(0), int64_t{0}, longest);
  check_range("--length-penalty", flags.length_penalty.value_or(0), 0.0, 10.0);
  HEED_CHECK_INPUT(decode.n_best <= decode.beam_size, "heed",
                   "--n-best {} is above --beam {}: a beam holds no more translations than that",
                   decode.n_best, decode.beam_size);
  HEED_CHECK_INPUT(decode.max_length == 0 || decode.min_length <= decode.max_length, "heed",
                   "the least length, {}, is above the greatest, {}: see --min-length and "
                   "--max-length",
                   decode.min_length, decode.max_length);
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
