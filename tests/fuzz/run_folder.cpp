// A run folder: metrics.jsonl, a line "====", then the names of files in checkpoints/, a line each;
// a name after '!' is of a file that is no checkpoint.
#include "train/run_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/file.h"
#include "tests/fuzz/sample_runs.h"
#include "tests/fuzz/target.h"
#include "tests/support/temporary_folder.h"
#include "train/metrics.h"

namespace heed::fuzz {
namespace {

namespace fs = std::filesystem;
using namespace train;

constexpr std::string_view border = "\n====\n";

// A folder with a whole checkpoint to link to.
struct Place {
  // In memory where that can be: the readers sync what they write.
  Place() : folder(fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()) {
    write_file("fuzz", whole, sample_checkpoints().front());
  }

  test::TemporaryFolder folder;
  std::string whole = folder / "whole";
  RunFolder run{folder / "run"};
};

void write(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
}

void make_checkpoints(const Place& place, std::string_view names) {
  constexpr size_t most = 8;
  for (size_t count = 0; count < most && !names.empty(); ++count) {
    std::string name(names.substr(0, names.find('\n')));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    const bool whole = !name.starts_with('!');
    name.erase(0, whole ? 0 : 1);
    if (name.empty() || name.size() > 255 || name == "." || name == ".." ||
        name.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
      continue;  // no file can be called so
    }
    const std::string path = place.run.path() + "/checkpoints/" + name;
    if (whole) {
      std::error_code taken;
      fs::create_hard_link(place.whole, path, taken);
    } else {
      write(path, "broken");
    }
  }
}

}  // namespace

void read(std::string_view input) {
  static const Place place;
  const RunFolder& run = place.run;
  fs::remove_all(run.path());
  run.create();
  const size_t middle = input.find(border);
  write(run.metrics_path(), input.substr(0, middle));
  if (middle != std::string_view::npos) {
    make_checkpoints(place, input.substr(middle + border.size()));
  }
  const std::vector<int64_t> steps = run.checkpoint_steps();
  demand(std::is_sorted(steps.rbegin(), steps.rend()), "the latest step comes first");
  for (const int64_t step : steps) {
    demand(step >= 0 && fs::exists(run.checkpoint_path(step)), "each step has its file");
  }
  for (const bool best : {false, true}) {
    try {
      const Checkpoint checkpoint = best ? run.load_best() : run.load_latest();
      demand(checkpoint.state.step == 10, "a whole checkpoint is loaded");
    } catch (const InputError&) {
    }
  }
  try {
    const MetricsFile continued(run.metrics_path(), 5);
    for (const MetricsEvent& event : read_metrics(run.metrics_path())) {
      demand(event.step <= 5, "what comes after the checkpoint is dropped");
    }
  } catch (const InputError&) {
  }
}

std::vector<std::string> seeds() {
  return {
      "{\"event\":\"train\",\"step\":3,\"epoch\":0.5,\"loss\":3.5}\n"
      "\n====\nstep-00000010.safetensors\n!step-00000020.safetensors\nbest.safetensors\n",
      "{\"event\":\"train\",\"step\":3,\"epoch\":1}\n{\"event\":\"validation\",\"step\":6,\"ep"
      "\n====\n!last.safetensors\n!step-00000001.safetensors\nstep-123456789.safetensors.tmp\n",
      "\n====\nlast.safetensors\nstep-99999999999999999999.safetensors\n"};
}

std::vector<std::string> words() {
  return {"step-",
          ".safetensors",
          "best.safetensors\n",
          "last.safetensors\n",
          "\n====\n",
          "!",
          "00000000",
          "-0000001",
          ".tmp",
          "{\"event\":\"train\",\"step\":9,\"epoch\":1}\n"};
}

}  // namespace heed::fuzz
