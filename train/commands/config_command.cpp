#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/config/config.h"

namespace heed::train {

void add_config_command(CLI::App& program) {
  struct Options {
    std::string file;
    std::vector<std::string> overrides;
    bool toml = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("config", "List every key, or check a config file");
  command->footer(
      "Without FILE: every key with its default, type and meaning.\n"
      "With FILE: all its mistakes, or the config that it amounts to.\n\n"
      "  heed config\n"
      "  heed config --toml > mine.toml\n"
      "  heed config --set model.kind=causal_lm > mine.toml\n"
      "  heed config mine.toml --set train.steps=100");
  command->add_option("FILE", options->file, "A config file to check")->type_name("");
  add_set_option(*command, options->overrides);
  command->add_flag("--toml", options->toml, "Print TOML that can be edited and used");
  command->callback([options, command] {
    std::string text;
    if (command->count("FILE") > 0) {
      text = write_toml(load_config(options->file, options->overrides));
    } else if (!options->overrides.empty()) {
      text = write_toml(parse_config("", "", options->overrides));
    } else {
      text = options->toml ? write_toml(Config()) : describe_config();
    }
    fmt::print("{}", text);
  });
}

}  // namespace heed::train
