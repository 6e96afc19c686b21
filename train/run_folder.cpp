#include "train/run_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"

namespace heed::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view step_prefix = "step-";
constexpr std::string_view extension = ".safetensors";

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// Of the checkpoints in a folder; what has several names counts once.
int64_t bytes_of_checkpoints(const std::string& folder) {
  std::set<ino_t> seen;
  int64_t bytes = 0;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    struct stat status {};
    if (entry.path().extension() == extension && ::stat(entry.path().c_str(), &status) == 0 &&
        seen.insert(status.st_ino).second) {
      bytes += status.st_size;
    }
  }
  return bytes;
}

constexpr std::array<std::string_view, 4> written_whole = {"config.toml", "metrics.jsonl",
                                                           "index.html", "curves.html"};

// Files in the making that a killed process left; no other training is in here.
void remove_unfinished_in(const fs::path& folder) {
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    const fs::path stem = entry.path().stem();
    if (entry.path().extension() == temporary_suffix &&
        (stem.extension() == extension ||
         std::ranges::find(written_whole, stem.string()) != written_whole.end())) {
      std::error_code ignored;
      fs::remove(entry.path(), ignored);
    }
  }
}

// A training beside a reader removes the oldest ones while that reads.
bool is_gone(const std::string& path) {
  std::error_code ignored;
  return fs::status(path, ignored).type() == fs::file_type::not_found;
}

[[noreturn]] void no_run(const std::string& path) {
  const fs::path within = fs::path(path).lexically_normal();
  const fs::path name = within.has_filename() ? within.filename() : within.parent_path().filename();
  if (name == "checkpoints") {
    const fs::path run =
        within.has_filename() ? within.parent_path() : within.parent_path().parent_path();
    throw InputError("run", fmt::format("{} is a part of a run folder: name {}", path,
                                        run.empty() ? "." : run.string()));
  }
  throw InputError("run", fmt::format("{} is no run folder: there is no checkpoint in it; `heed "
                                      "train CONFIG --run {}` makes one",
                                      path, path));
}

}  // namespace

std::string RunFolder::checkpoint_path(int64_t step) const {
  return fmt::format("{}/checkpoints/{}{:08}{}", path_, step_prefix, step, extension);
}

bool RunFolder::exists() const { return fs::is_directory(path_); }

// In the deepest of its parents that is there, a folder of a name that nobody has is made and
// removed: permissions, a disk that is full or only read, a file in the way.
void RunFolder::check_can_be_made() const {
  std::error_code ignored;
  fs::path there = fs::absolute(path_).lexically_normal();
  while (there.has_relative_path() && !fs::exists(there, ignored)) {
    there = there.parent_path();
  }
  std::string probe = there / ".heed-XXXXXX";
  HEED_CHECK(::mkdtemp(probe.data()) != nullptr, "run", "the folder {} cannot be made: {}", path_,
             std::strerror(errno));
  ::rmdir(probe.c_str());
}

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
  const std::string folder = path_ + "/checkpoints";
  std::error_code failure;
  const fs::directory_iterator entries(folder, failure);
  HEED_CHECK(!failure || failure == std::errc::no_such_file_or_directory, "run",
             "the folder {} cannot be read: {}", folder, failure.message());
  for (const auto& entry : entries) {
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

bool RunFolder::has_checkpoint() const { return !checkpoint_files().empty(); }

std::vector<std::string> RunFolder::checkpoint_files() const {
  std::vector<std::string> files;
  for (const int64_t step : checkpoint_steps()) {
    files.push_back(checkpoint_path(step));
  }
  for (const std::string& alias : {last_path(), best_path()}) {
    if (fs::exists(alias)) {
      files.push_back(alias);
    }
  }
  return files;
}

void RunFolder::check_room(int64_t checkpoint_bytes, int64_t keep) const {
  const std::string folder = path_ + "/checkpoints";
  const int64_t asked = checkpoint_bytes * (keep + 2) - bytes_of_checkpoints(folder);
  const std::optional<int64_t> free = free_bytes(folder);
  HEED_CHECK(!free || *free >= asked, "checkpoint",
             "{}: {} are free, {} more are needed: checkpoints of {}, of which {} are kept "
             "(train.keep_checkpoints), besides the best and the one being written; make room, or "
             "name a folder elsewhere with --run",
             folder, megabytes(*free), megabytes(asked), megabytes(checkpoint_bytes), keep);
}

void RunFolder::save(const Checkpoint& checkpoint, bool is_best, int64_t keep) const {
  const int64_t step = checkpoint.state.step;
  const std::string bytes = encode_checkpoint(checkpoint);
  const std::optional<int64_t> free = free_bytes(path_ + "/checkpoints");
  const auto size = static_cast<int64_t>(bytes.size());
  HEED_CHECK(!free || *free >= size, "checkpoint",
             "{}: cannot be written: {} are free, it takes {}", checkpoint_path(step),
             megabytes(*free), megabytes(size));
  write_file("checkpoint", checkpoint_path(step), bytes);
  name_as_latest(step, is_best, keep);
}

void RunFolder::name_as_latest(int64_t step, bool is_best, int64_t keep) const {
  link_file("checkpoint", checkpoint_path(step), last_path());
  if (is_best) {
    link_file("checkpoint", checkpoint_path(step), best_path());
  }
  const auto steps = checkpoint_steps();
  for (size_t i = static_cast<size_t>(std::max<int64_t>(1, keep)); i < steps.size(); ++i) {
    std::error_code ignored;
    fs::remove(checkpoint_path(steps[i]), ignored);
  }
}

void RunFolder::remove_unfinished() const {
  for (const char* part : {"", "checkpoints", "report"}) {
    remove_unfinished_in(fs::path(path_) / part);
  }
}

void RunFolder::tidy(const Checkpoint& latest, int64_t keep) const {
  const int64_t step = latest.state.step;
  const std::string path = checkpoint_path(step);
  for (const int64_t other : checkpoint_steps()) {
    if (other > step || (other == step && latest.path != path)) {
      std::error_code ignored;
      fs::rename(checkpoint_path(other), checkpoint_path(other) + ".damaged", ignored);
    }
  }
  if (latest.path != path) {
    link_file("checkpoint", latest.path, path);
  }
  name_as_latest(step, latest.state.best_step == step, keep);
}

Checkpoint RunFolder::load_latest() const {
  const auto files = checkpoint_files();
  for (size_t i = 0; i < files.size(); ++i) {
    try {
      return load_checkpoint(files[i]);
    } catch (const DamagedCheckpoint& error) {
      if (i + 1 == files.size()) {
        throw;
      }
      log::warning("run", "passed over: {}; {} is used instead", error.what(), files[i + 1]);
    } catch (const InputError&) {
      if (i + 1 == files.size() || !is_gone(files[i])) {
        throw;
      }
    }
  }
  no_run(path_);
}

Checkpoint RunFolder::load_best() const {
  if (fs::exists(best_path())) {
    try {
      return load_checkpoint(best_path());
    } catch (const DamagedCheckpoint& error) {
      log::warning("run", "passed over: {}; the latest checkpoint is used instead", error.what());
    }
  }
  return load_latest();
}

Checkpoint load_trained(const std::string& path) {
  HEED_CHECK_INPUT(fs::exists(path), "run", "{}: no such run folder or checkpoint", path);
  return fs::is_directory(path) ? RunFolder(path).load_best() : load_checkpoint(path);
}

}  // namespace heed::train
