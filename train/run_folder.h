#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/export.h"
#include "train/checkpoint.h"

namespace heed::train {

// runs/NAME: config.toml, log.txt, metrics.jsonl, checkpoints/, report/, and lock while it trains.
class HEED_EXPORT RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string config_path() const { return path_ + "/config.toml"; }
  std::string log_path() const { return path_ + "/log.txt"; }
  std::string metrics_path() const { return path_ + "/metrics.jsonl"; }
  std::string report_path(const std::string& file) const { return path_ + "/report/" + file; }
  std::string checkpoint_path(int64_t step) const;
  std::string best_path() const { return path_ + "/checkpoints/best.safetensors"; }
  std::string last_path() const { return path_ + "/checkpoints/last.safetensors"; }

  std::string lock_path() const { return path_ + "/lock"; }  // there while a training runs

  bool exists() const;
  // Leaves nothing behind. Throws Error when the folder, which is not there, cannot be made.
  void check_can_be_made() const;
  // Makes the folders where they are missing. Throws Error naming what cannot be made.
  void create() const;
  // Steps of the numbered checkpoints, latest first; none where the folder is not there. Throws
  // Error when it cannot be read.
  std::vector<int64_t> checkpoint_steps() const;
  bool has_checkpoint() const;

  // Throws Error when the disk has no room for `keep` numbered checkpoints of that size, the best,
  // and the one that is being written, besides those that are there already.
  void check_room(int64_t checkpoint_bytes, int64_t keep) const;

  // Saves a numbered checkpoint, makes last (and best, when it is) another name of it, and removes
  // all numbered ones but the `keep` latest. Throws Error, with those that were there as they were.
  void save(const Checkpoint& checkpoint, bool is_best, int64_t keep) const;

  // Removes what a kill left unfinished. For who holds the lock.
  void remove_unfinished() const;

  // Puts in order what a kill left when a training goes on from load_latest(): damaged checkpoints
  // set aside as NAME.damaged, last and best as save() leaves them.
  void tidy(const Checkpoint& latest, int64_t keep) const;

  // The latest checkpoint that is whole; damaged ones are named in the log and passed over.
  // Throws InputError when there is none, or a whole one cannot be read (the disk, its format).
  Checkpoint load_latest() const;
  // The best one by validation; the latest when there is none, or, saying so, when it is damaged.
  // Throws InputError for what is no run folder.
  Checkpoint load_best() const;

 private:
  std::vector<std::string> checkpoint_files() const;  // in the order load_latest() tries them
  void name_as_latest(int64_t step, bool is_best, int64_t keep) const;

  std::string path_;
};

// What a user names to use a trained model: a run folder or a checkpoint file.
HEED_EXPORT Checkpoint load_trained(const std::string& path);

}  // namespace heed::train
