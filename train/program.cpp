#include "train/program.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/device.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/version.h"
#include "kernels/backend.h"
#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/config/nearest.h"

namespace heed::train {
namespace {

enum ExitCode { success = 0, failed = 1, bad_input = 2 };

std::vector<CLI::App*> commands_of(CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

void add_commands(CLI::App& program) {
  add_train_command(program);
  add_translate_command(program);
  add_generate_command(program);
  add_evaluate_command(program);
  add_inspect_command(program);
  add_plot_command(program);
  add_gradcheck_command(program);
  add_bench_command(program);
  add_config_command(program);
  for (CLI::App* command : commands_of(program)) {
    command->group("Commands");
  }
}

std::string describe_device(Device device) {
  try {
    return kernels::backend(device).description();
  } catch (const Error&) {
    return "no";
  }
}

std::string version_text() {
#if defined(__clang__)
  constexpr const char* compiler = "clang " __clang_version__;
#else
  constexpr const char* compiler = "g++ " __VERSION__;
#endif
  return fmt::format("heed {}\n  compiler  {}\n  cpu       {}\n  cuda      {}", version(), compiler,
                     describe_device({DeviceKind::cpu, 0}), describe_device({DeviceKind::cuda, 0}));
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const std::string_view near = nearest(word, {names.begin(), names.end()});
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

// A first word that is no command; CLI11 would only say that it was not expected.
void check_command(CLI::App& program, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') {
    return;
  }
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(program)) {
    names.push_back(command->get_name());
    if (names.back() == argv[1]) {
      return;
    }
  }
  const std::string hint = did_you_mean(argv[1], names);
  throw InputError("heed", fmt::format("unknown command '{}'{}", argv[1],
                                       hint.empty() ? "; see `heed --help`" : hint));
}

// What was meant where "--option = value" is no number that the option can take.
std::string number_expected(std::string_view refused) {
  const size_t equals = refused.find(" = ");
  const std::string_view option = refused.substr(0, equals);
  const std::string_view value = refused.substr(std::min(equals, refused.size() - 3) + 3);
  double number = 0;
  const auto end = std::from_chars(value.data(), value.data() + value.size(), number).ptr;
  const bool is_number = !value.empty() && end == value.data() + value.size();
  return fmt::format("{} is {}, a {}number is expected", option, value, is_number ? "whole " : "");
}

// Words what CLI11 refuses.
std::string worded(const CLI::ParseError& failure, const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  const CLI::App& command = chosen.empty() ? program : *chosen.front();
  const std::string name =
      chosen.empty() ? "heed" : fmt::format("heed {}", chosen.front()->get_name());
  constexpr std::string_view unreadable = "Could not convert: ";
  const std::string_view what = failure.what();
  if (what.starts_with(unreadable)) {
    return fmt::format("[heed] {}; see `{} --help`",
                       number_expected(what.substr(unreadable.size())), name);
  }
  const std::vector<std::string> extras = command.remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&failure) == nullptr || extras.empty()) {
    return fmt::format("[heed] {}; see `{} --help`", failure.what(), name);
  }
  const auto option =
      std::ranges::find_if(extras, [](const std::string& extra) { return extra.starts_with('-'); });
  if (option == extras.end()) {
    return fmt::format("[heed] '{}' was not expected; see `{} --help`", extras.front(), name);
  }
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& long_name : known->get_lnames()) {
      names.push_back("--" + long_name);
    }
  }
  const std::string word = option->substr(0, option->find('='));
  const std::string hint = did_you_mean(word, names);
  return fmt::format("[heed] unknown option '{}' of `{}`{}", word, name,
                     hint.empty() ? fmt::format("; see `{} --help`", name) : hint);
}

int run(int argc, const char* const* argv) {
  CLI::App program("Trains translators and language models with attention from a config file.",
                   "heed");
  program.footer(
      "Examples:\n"
      "  heed train examples/toy_translator.toml   train a translator into runs/toy_translator\n"
      "  heed translate runs/toy_translator        translate what is typed\n"
      "  heed evaluate runs/toy_translator         score it on its test corpus\n"
      "  heed train examples/char_lm.toml          train a language model into runs/char_lm\n"
      "  heed generate runs/char_lm                let it write\n"
      "  heed config                               every key of a config file, with its meaning\n\n"
      "`heed COMMAND --help` explains a command.");
  program.get_formatter()->label("SUBCOMMAND", "COMMAND");
  program.set_version_flag("--version", version_text, "Print the version and how it was built");
  program.require_subcommand(0, 1);
  add_commands(program);
  check_command(program, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& answered) {  // --help, --version
    return program.exit(answered);
  } catch (const CLI::ParseError& failure) {
    throw InputError(worded(failure, program));
  }
  if (program.get_subcommands().empty()) {
    fmt::print(stderr, "{}", program.help());
    return bad_input;
  }
  return success;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  try {
    const int code = run(argc, argv);
    HEED_CHECK(std::fflush(stdout) == 0 && std::ferror(stdout) == 0, "heed",
               "the output cannot be written: {}", std::strerror(errno));
    return code;
  } catch (const ExitWith& exit) {
    return exit.code;
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return bad_input;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
  } catch (const Stopped& stopped) {
    fmt::print(stderr, "[heed] {}\n", stopped.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "[heed] out of memory; a smaller batch or model needs less\n");
  } catch (const std::system_error& error) {
    fmt::print(stderr, "[heed] {}\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "[heed] internal error, please report it: {}\n", error.what());
  }
  return failed;
}

}  // namespace heed::train
