#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/file.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/run_program.h"
#include "train/run_folder.h"

// Runs of a second that save after every update, and how two of them compare.
namespace heed::test {

inline Arguments with_settings(Arguments arguments, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  return arguments;
}

// `heed train small.toml --run RUN` with the settings, small.toml and text.txt being in the folder.
inline Arguments small_training(const TemporaryFolder& folder, const std::string& run,
                                const std::vector<std::string>& settings) {
  write_file("test", folder / "small.toml", R"([run]
name = "small"
log_every = 3
[data]
validation = "none"
batch_size = 8
[model]
width = 8
[train]
checkpoint_every = 1
)");
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "line " + std::to_string(i * i) + " of a text that repeats itself a little\n";
  }
  write_file("test", folder / "text.txt", text);
  return with_settings({"train", "small.toml", "--run", run}, settings);
}

// The lines of metrics.jsonl without what the clock decides.
inline std::vector<std::string> timeless_metrics(const train::RunFolder& run) {
  std::istringstream lines(read_file("test", run.metrics_path()));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json event = nlohmann::json::parse(line);
    event.erase("tokens_per_second");
    all.push_back(event.dump());
  }
  return all;
}

// Lines of log.txt that speak of updates and validations, without times.
inline std::vector<std::string> timeless_log(const train::RunFolder& run) {
  std::istringstream lines(read_file("test", run.log_path()));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) {
    const size_t area = line.find(" [");
    if (area != std::string::npos &&
        (line.find("[train] step") == area + 1 || line.find("[validation] step") == area + 1)) {
      const size_t gradient = line.find("  |g|");
      all.push_back(line.substr(area, gradient == std::string::npos ? gradient : gradient - area));
    }
  }
  return all;
}

inline std::vector<std::string> checkpoint_names(const train::RunFolder& run) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run.path() + "/checkpoints")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Weights, optimizer, all else in the checkpoints, metrics and log are the same.
inline void expect_same_run(const train::RunFolder& actual, const train::RunFolder& expected) {
  EXPECT_EQ(checkpoint_names(actual), checkpoint_names(expected));
  for (const std::string& name : checkpoint_names(expected)) {
    const std::string file = "/checkpoints/" + name;
    EXPECT_TRUE(std::filesystem::exists(actual.path() + file) &&
                read_file("test", actual.path() + file) ==
                    read_file("test", expected.path() + file))
        << name;
  }
  EXPECT_EQ(timeless_metrics(actual), timeless_metrics(expected));
  EXPECT_EQ(timeless_log(actual), timeless_log(expected));
}

}  // namespace heed::test
