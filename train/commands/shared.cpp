#include "train/commands/shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <variant>

#include "core/error.h"
#include "core/file.h"
#include "core/threads.h"
#include "train/config/config_table.h"

namespace heed::train {
namespace {

template <typename T>
bool allows(const Key& key, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return key.choices.empty() || std::ranges::find(key.choices, value) != key.choices.end();
  } else {
    return key.range.contains(static_cast<double>(value));
  }
}

template <typename T>
void set(Config& config, std::string_view name, std::string_view option,
         const std::optional<T>& given) {
  if (!given) {
    return;
  }
  const Key& key = *find_key(name);
  HEED_CHECK_INPUT(allows(key, *given), "heed", "{} is {}, {} is expected", option, *given,
                   key.choices.empty() ? key.range.text() : alternatives(key.choices, " or "));
  *std::get<T*>(key.value(config)) = *given;
}

}  // namespace

void set_key(Config& config, std::string_view key, std::string_view option,
             const std::optional<int64_t>& given) {
  set(config, key, option, given);
}
void set_key(Config& config, std::string_view key, std::string_view option,
             const std::optional<double>& given) {
  set(config, key, option, given);
}
void set_key(Config& config, std::string_view key, std::string_view option,
             const std::optional<std::string>& given) {
  set(config, key, option, given);
}

CLI::Option* add_threads_option(CLI::App& command, Threads& threads) {
  return command.add_option("--threads", threads, "Threads; 0 = the cores this process may use")
      ->type_name("N");
}

void use_threads(const Threads& threads) {
  Config config;
  set_key(config, "run.threads", "--threads", threads);
  if (config.run.threads > 0) {
    set_thread_count(static_cast<int>(config.run.threads));
  }
}

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
  add_threads_option(command, threads);
}

DecodeConfig with_flags(Config config, const DecodingFlags& flags) {
  set_key(config, "decode.beam_size", "--beam", flags.beam);
  set_key(config, "decode.n_best", "--n-best", flags.n_best);
  set_key(config, "decode.max_length", "--max-length", flags.max_length);
  set_key(config, "decode.min_length", "--min-length", flags.min_length);
  set_key(config, "decode.length_penalty", "--length-penalty", flags.length_penalty);
  DecodeConfig& decode = config.decode;
  // Of beam and n_best the one that was not asked for gives way.
  if (flags.n_best && !flags.beam) {
    decode.beam_size = std::max(decode.beam_size, decode.n_best);
  } else if (flags.beam && !flags.n_best) {
    decode.n_best = std::min(decode.n_best, decode.beam_size);
  }
  HEED_CHECK_INPUT(decode.n_best <= decode.beam_size, "heed",
                   "--n-best {} is above --beam {}: a beam holds no more translations than that",
                   decode.n_best, decode.beam_size);
  HEED_CHECK_INPUT(decode.max_length == 0 || decode.min_length <= decode.max_length, "heed",
                   "the least length, {}, is above the greatest, {}: see --min-length and "
                   "--max-length",
                   decode.min_length, decode.max_length);
  return decode;
}

CLI::Option* add_set_option(CLI::App& command, std::vector<std::string>& overrides) {
  return command
      .add_option("--set", overrides, "Override a key, such as train.steps=100; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->expected(1)
      ->take_all();
}

void check_ending(std::string_view option, const std::string& path,
                  const std::vector<Ending>& endings) {
  const auto fits = [&](const Ending& ending) { return path.ends_with(ending.suffix); };
  std::string expected;
  for (const Ending& ending : endings) {
    expected +=
        fmt::format("{}{} ({})", expected.empty() ? "" : " or ", ending.suffix, ending.content);
  }
  HEED_CHECK_INPUT(path.empty() || std::ranges::any_of(endings, fits), "heed",
                   "{} is {}: a name ending in {} is expected", option, path, expected);
}

void check_attends(std::string_view area, const Config& config) {
  HEED_CHECK_INPUT(config.model.kind != "rnnencdec", area,
                   "{} does not attend: it has no alignments", config.model.kind);
}

void check_standard_input(std::string_view area) {
  HEED_CHECK_INPUT(std::ferror(stdin) == 0, area, "standard input cannot be read: {}",
                   std::strerror(errno));
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
