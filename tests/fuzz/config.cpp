// A config file and overrides: TOML, then each override after a NUL.
#include "train/config/config.h"

#include "core/error.h"
#include "tests/fuzz/target.h"

namespace heed::fuzz {
namespace {

using namespace std::string_literals;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void read(std::string_view input) {
  const auto parts = split(input, '\0');
  train::Config config;
  try {
    config = train::parse_config(parts[0], "fuzz.toml", {parts.begin() + 1, parts.end()});
  } catch (const InputError&) {
    return;
  }
  const std::string written = train::write_toml(config);
  const train::Config again = train::parse_config(written, "again.toml");
  demand(train::write_toml(again) == written, "a config that was written reads back the same");
  demand(train::config_differences(config, again).empty(), "no key differs");
}

std::vector<std::string> seeds() {
  return {
      "[data]\ntrain = \"grammar:100\"\n[train]\nsteps = 10\n",
      "[data]\ntrain = [\"a.en\", \"a.de\"]\nvalidation = \"none\"\n\n[model]\nkind = "
      "\"transformer\"\nwidth = 64\nheads = 4 # a remark\ndropout = 0.1\n",
      "model.kind = \"causal_lm\"\ndata = { train = 'sources', tokenizer = \"\"\"character\"\"\" "
      "}\n",
      "[train]\nsteps = 1_000\nlearning_rate = 1e-3\n\0train.steps=5\0model.width=8\0run.name=x y"s,
      "[run]\nseed = 0x10\nthreads = 1979-05-27T07:32:00Z\nname = \"\\u00e9\\n\"\n",
      "[train]\nsteps = 1\nsteps = 2\n[train]\nstep = [[1, {a.b = [inf]}]]\n",
      train::write_toml(train::default_config("rnnsearch")),
      train::write_toml(train::default_config("causal_lm")),
  };
}

std::vector<std::string> words() {
  std::vector<std::string> all = {"[[",   "]]",   "\"\"\"", "'''",         "{",   "}",
                                  "=",    ".",    "\\u",    "0x",          "inf", "nan",
                                  "true", "none", "#",      "\xEF\xBB\xBF"};
  // The keys, and "[section]" as lines of their own.
  for (const std::string& line : split(train::write_toml(train::Config()), '\n')) {
    const size_t end = line.find(" = ");
    const size_t bracket = line.find(']');
    if (end != std::string::npos) {
      all.push_back(line.substr(0, end + 3));
    } else if (bracket != std::string::npos) {
      all.push_back(line.substr(0, bracket + 1) + "\n");
    }
  }
  return all;
}

}  // namespace heed::fuzz
