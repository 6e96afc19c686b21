#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/op_cases/op_cases.h"
#include "core/error.h"
#include "train/commands/commands.h"
#include "train/commands/shared.h"
#include "train/config/nearest.h"
#include "train/report/table.h"

namespace heed::train {
namespace {

struct Options {
  std::vector<std::string> ops;
  int64_t seed = 1;
  bool json = false;
};

bool wanted(const Options& options, const std::string& op) {
  return options.ops.empty() ||
         std::find(options.ops.begin(), options.ops.end(), op) != options.ops.end();
}

// Every op whose name holds the word, or else the one whose name is near it.
std::string suggestion(const std::string& word, const std::vector<std::string_view>& names) {
  std::vector<std::string_view> meant;
  for (const std::string_view name : names) {
    if (name.find(word) != std::string_view::npos) {
      meant.push_back(name);
    }
  }
  if (const std::string_view near = nearest(word, names); meant.empty() && !near.empty()) {
    meant.push_back(near);
  }
  return meant.empty() ? "`heed gradcheck` without a name checks and lists all"
                       : fmt::format("did you mean '{}'?", fmt::join(meant, "' or '"));
}

void check_names(const Options& options) {
  std::vector<std::string_view> names;
  for (const OpCase& entry : op_cases()) {
    names.push_back(entry.op);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& op : options.ops) {
    HEED_CHECK_INPUT(std::find(names.begin(), names.end(), op) != names.end(), "gradcheck",
                     "there is no op called '{}'; {}", op, suggestion(op, names));
  }
}

void run_gradcheck(const Options& options) {
  check_option("--seed", options.seed, {.low = 0});
  check_names(options);
  const auto seed = static_cast<uint64_t>(options.seed);
  TextTable table({"op", "case", "checked", "kinks", "worst error", "result"},
                  {false, false, true, true, true, false});
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  int64_t cases = 0;
  int64_t failed = 0;
  std::string failures;
  for (const OpCase& entry : op_cases()) {
    if (!wanted(options, entry.op)) {
      continue;
    }
    GradcheckOptions check = entry.options;
    check.seed = seed;
    const GradcheckResult result = gradcheck(entry.function, entry.inputs(seed), check);
    ++cases;
    failed += result.passed() ? 0 : 1;
    if (!result.passed()) {
      failures += fmt::format("\n  {} {}: {}", entry.op, entry.variant, result.message);
    }
    table.add({entry.op, entry.variant, fmt::format("{}", result.checked),
               fmt::format("{}", result.kinks), fmt::format("{:.1e}", result.worst_error),
               result.passed() ? "ok" : "FAILED"});
    json.push_back({{"op", entry.op},
                    {"case", entry.variant},
                    {"checked", result.checked},
                    {"kinks", result.kinks},
                    {"worst_error", result.worst_error},
                    {"passed", result.passed()},
                    {"message", result.message}});
  }
  if (options.json) {
    const nlohmann::ordered_json all = {
        {"cases", cases}, {"failed", failed}, {"results", std::move(json)}};
    fmt::print("{}\n", all.dump());
  } else {
    fmt::print("{}{} cases, {} failed\n", table.text(), cases, failed);
  }
  HEED_CHECK(failed == 0, "gradcheck", "{} of {} cases failed:{}", failed, cases, failures);
}

}  // namespace

void add_gradcheck_command(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "gradcheck", "Compare the gradient of every op with finite differences");
  command->footer(
      "In double precision, by central differences against a random cotangent. Exit code 1 when a\n"
      "gradient is wrong. For layers of your own see autograd/gradcheck.h.\n\n"
      "  heed gradcheck\n"
      "  heed gradcheck softmax gru_cell --seed 7");
  command->add_option("OP", options->ops, "Only these ops")->type_name("");
  command->add_option("--seed", options->seed, "Seed of inputs and cotangents")->type_name("N");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options] { run_gradcheck(*options); });
}

}  // namespace heed::train
