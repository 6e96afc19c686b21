#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What several commands share.
namespace heed::train {

struct Config;
struct DecodeConfig;

// Thrown to end the program with an exit code when the message was shown already (an interrupted
// training: 130 for SIGINT, 143 for SIGTERM).
struct ExitWith {
  int code;
};

// Sets a config key to what an option gives, if it is given. The option may say what the key may;
// throws InputError naming the option.
void set_key(Config& config, std::string_view key, std::string_view option,
             const std::optional<int64_t>& given);
void set_key(Config& config, std::string_view key, std::string_view option,
             const std::optional<double>& given);
void set_key(Config& config, std::string_view key, std::string_view option,
             const std::optional<std::string>& given);

using Threads = std::optional<int64_t>;
CLI::Option* add_threads_option(CLI::App& command, Threads& threads);
void use_threads(const Threads& threads);  // none, 0: as they are

// Options of the commands that translate.
struct DecodingFlags {
  std::optional<int64_t> beam;
  std::optional<int64_t> n_best;
  std::optional<int64_t> max_length;
  std::optional<int64_t> min_length;
  std::optional<double> length_penalty;
  Threads threads;

  void add_to(CLI::App& command, bool with_n_best);
};

// The run's [decode] section with what the command line says.
DecodeConfig with_flags(Config config, const DecodingFlags& flags);

CLI::Option* add_set_option(CLI::App& command, std::vector<std::string>& overrides);

// How a name may end, and what a file of that name holds.
struct Ending {
  std::string_view suffix, content;
};
// Throws InputError unless the file that an option names (if any: "") ends in one of them.
void check_ending(std::string_view option, const std::string& path,
                  const std::vector<Ending>& endings);

// Throws InputError for a kind of translator that does not attend.
void check_attends(std::string_view area, const Config& config);

// Once reading has ended. Throws InputError when it was not the end of the input.
void check_standard_input(std::string_view area);

// Writes a file for a person (HTML, SVG), making its folder. Throws Error.
void write_output(const std::string& path, const std::string& content);

}  // namespace heed::train
