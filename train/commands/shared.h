#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What several commands share.
namespace heed::train {

// Thrown to end the program with an exit code when the message was shown already (an interrupted
// training: 130 for SIGINT, 143 for SIGTERM).
struct ExitWith {
  int code;
};

// Options that every command which uses a trained run has.
struct DecodingFlags {
  std::optional<int64_t> beam;
  std::optional<int64_t> n_best;
  std::optional<int64_t> max_length;
  std::optional<int64_t> min_length;
  std::optional<double> length_penalty;
  int64_t threads = 0;

  void add_to(CLI::App& command, bool with_n_best);
};

struct DecodeConfig;
// The run's [decode] section with what the command line says.
DecodeConfig with_flags(DecodeConfig decode, const DecodingFlags& flags);

void use_threads(int64_t threads);  // 0: as they are

CLI::Option* add_set_option(CLI::App& command, std::vector<std::string>& overrides);

// Writes a file for a person (HTML, SVG), making its folder. Throws Error.
void write_output(const std::string& path, const std::string& content);

}  // namespace heed::train
