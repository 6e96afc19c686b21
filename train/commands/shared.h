#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"
#include "train/config/config_table.h"

// What several commands share.
namespace heed::train {

// Thrown to end the program with an exit code when the message was shown already (an interrupted
// training: 130 for SIGINT, 143 for SIGTERM).
struct ExitWith {
  int code;
};

// Throw InputError, naming the option, for a value that it does not take. Without choices it takes
// any text.
void check_option(std::string_view option, int64_t given, const ValueRange& range);
void check_option(std::string_view option, double given, const ValueRange& range);
void check_option(std::string_view option, const std::string& given,
                  const std::vector<std::string_view>& choices);

// Sets a config key to what an option gives, if it is given. The option may say what the key may;
// throws InputError naming the option.
void set_key(Config& config, std::string_view key, std::string_view option,
             const std::optional<int64_t>& given);
void set_key(Config& config, std::string_view key, std::string_view option,
             const std::optional<double>& given);
void set_key(Config& config, std::string_view key, std::string_view option,
             const std::optional<std::string>& given);

// Where a command computes, and how: the keys of [run] as options.
struct MachineFlags {
  std::optional<std::string> device;
  std::optional<std::string> precision;
  std::optional<int64_t> threads;

  void add_to(CLI::App& command);
  // Makes the process compute so: weights that are loaded from then on lie on that device. Returns
  // the section. Throws InputError for what is not there.
  RunConfig apply() const;
};

// Options of the commands that translate.
struct DecodingFlags {
  std::optional<int64_t> beam;
  std::optional<int64_t> n_best;
  std::optional<int64_t> max_length;
  std::optional<int64_t> min_length;
  std::optional<double> length_penalty;

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
