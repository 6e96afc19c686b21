#include "train/commands/shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <variant>

#include "core/device.h"
#include "core/error.h"
#include "core/file.h"
#include "train/machine.h"

namespace heed::train {
namespace {

template <typename T>
void set(Config& config, std::string_view name, std::string_view option,
         const std::optional<T>& given) {
  if (!given) {
    return;
  }
  const Key& key = *find_key(name);
  if constexpr (std::is_same_v<T, std::string>) {
    check_option(option, *given, key.choices);
  } else {
    check_option(option, *given, key.range);
  }
  *std::get<T*>(key.value(config)) = *given;
}

}  // namespace

void check_option(std::string_view option, int64_t given, const ValueRange& range) {
  HEED_CHECK_INPUT(range.contains(static_cast<double>(given)), "heed", "{} is {}, {} is expected",
                   option, given, range.text());
}
void check_option(std::string_view option, double given, const ValueRange& range) {
  HEED_CHECK_INPUT(range.contains(given), "heed", "{} is {}, {} is expected", option, given,
                   range.text());
}
void check_option(std::string_view option, const std::string& given,
                  const std::vector<std::string_view>& choices) {
  HEED_CHECK_INPUT(choices.empty() || std::ranges::find(choices, given) != choices.end(), "heed",
                   "{} is {}, {} is expected", option, given, alternatives(choices, " or "));
}

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

void MachineFlags::add_to(CLI::App& command) {
  command.add_option("--device", device, "cpu, cuda or cuda:N (default: cpu)")->type_name("D");
  command
      .add_option("--precision", precision,
                  "Of products on a card: float32, tf32 or bf16 (default: float32)")
      ->type_name("P");
  command.add_option("--threads", threads, "Threads; 0 = the cores this process may use")
      ->type_name("N");
}

RunConfig MachineFlags::apply() const {
  Config config;
  RunConfig& run = config.run;
  run.device = device.value_or(run.device);  // of several cards any: more than the key allows
  set_key(config, "run.precision", "--precision", precision);
  set_key(config, "run.threads", "--threads", threads);
  configure_machine(run);
  if (parse_device(run.device).kind != DeviceKind::cpu) {
    log_machine(run);
  }
  return run;
}

void DecodingFlags::add_to(CLI::App& command, bool with_n_best) {
  command
      .add_option("--beam", beam,
                  "Hypotheses kept; 1 = greedy (default: the run's decode.beam_size)")
      ->type_name("N");
  if (with_n_best) {
    command
        .add_option("--n-best", n_best,
                    "Translations of each sentence, best first; the beam is at least as wide")
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
