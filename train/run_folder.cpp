#include "train/run_folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>

#include "core/error.h"
#include "core/logging.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view step_prefix = "step-";
constexpr std::string_view extension = ".safetensors";

// `alias` becomes another name of `file`, replacing what it named before in one move.
void point_at(const std::string& alias, const std::string& file) {
  const std::string temporary = alias + ".tmp";
  std::error_code failure;
  fs::remove(temporary, failure);
  fs::create_hard_link(file, temporary, failure);
  if (failure) {
    fs::copy_file(file, temporary, fs::copy_options::overwrite_existing, failure);
  }
  if (!failure) {
    fs::rename(temporary, alias, failure);
  }
  HEED_CHECK(!failure, "checkpoint", "{} cannot be written: {}", alias, failure.message());
}

[[noreturn]] void no_run(const std::string& path) {
  throw InputError("run", fmt::format("{} is no run folder: there is no checkpoint in it; `heed "
                                      "train CONFIG --run {}` makes one",
                                      path, path));
}

}  // namespace

std::string RunFolder::checkpoint_path(int64_t step) const {
  return fmt::format("{}/checkpoints/{}{:08}{}", path_, step_prefix, step, extension);
}

bool RunFolder::exists() const { return fs::is_directory(path_); }

void RunFolder::create() const {
  for (const char* part : {"checkpoints", "report"}) {
    std::error_code failure;
    fs::create_directories(fs::path(path_) / part, failure);
    HEED_CHECK(!failure, "run", "the folder {}/{} cannot be made: {}", path_, part,
               failure.message());
  }
}

std::vector<int64_t> RunFolder::checkpoint_steps() const {
  std::vector<int64_t> steps;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(path_ + "/checkpoints", failure)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(step_prefix) || !name.ends_with(extension)) {
      continue;
    }
    int64_t step = 0;
    const char* first = name.data() + step_prefix.size();
    const char* last = name.data() + name.size() - extension.size();
    std::from_chars(first, last, step);
    if (step >= 0 && checkpoint_path(step).ends_with("/" + name)) {
      steps.push_back(step);
    }
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  return steps;
}

void RunFolder::save(const Checkpoint& checkpoint, bool is_best, int64_t keep) const {
  const int64_t step = checkpoint.state.step;
  save_checkpoint(checkpoint_path(step), checkpoint);
  point_at_step(step, is_best);
  const auto steps = checkpoint_steps();
  for (size_t i = static_cast<size_t>(std::max<int64_t>(1, keep)); i < steps.size(); ++i) {
    std::error_code ignored;
    fs::remove(checkpoint_path(steps[i]), ignored);
  }
}

void RunFolder::point_at_step(int64_t step, bool is_best) const {
  point_at(last_path(), checkpoint_path(step));
  if (is_best) {
    point_at(best_path(), checkpoint_path(step));
  }
}

Checkpoint RunFolder::load_latest() const {
  const auto steps = checkpoint_steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    try {
      return load_checkpoint(checkpoint_path(steps[i]));
    } catch (const InputError& error) {
      if (i + 1 == steps.size()) {
        throw;
      }
      log::warning("run", "passed over: {}; the checkpoint of step {} is used instead",
                   error.what(), steps[i + 1]);
    }
  }
  no_run(path_);
}

Checkpoint RunFolder::load_best() const {
  if (fs::exists(best_path())) {
    return load_checkpoint(best_path());
  }
  if (!has_checkpoint() && fs::exists(last_path())) {
    return load_checkpoint(last_path());
  }
  return load_latest();
}

Checkpoint load_trained(const std::string& path) {
  HEED_CHECK_INPUT(fs::exists(path), "run", "{}: no such run folder or checkpoint", path);
  return fs::is_directory(path) ? RunFolder(path).load_best() : load_checkpoint(path);
}

}  // namespace heed::train
