#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

// One file a command: adding one is a file here, a declaration below and a line in program.cpp.
// A command adds its subcommand with options and a callback; what fails inside is thrown as
// heed::Error or InputError, which the program words and turns into the exit code.
namespace heed::train {

void add_config_command(CLI::App& program);
void add_evaluate_command(CLI::App& program);
void add_generate_command(CLI::App& program);
void add_gradcheck_command(CLI::App& program);
void add_bench_command(CLI::App& program);
void add_inspect_command(CLI::App& program);
void add_plot_command(CLI::App& program);
void add_train_command(CLI::App& program);
void add_translate_command(CLI::App& program);

}  // namespace heed::train
