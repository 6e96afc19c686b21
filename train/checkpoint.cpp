#include "train/checkpoint.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "data/utf8.h"
#include "train/fingerprint.h"
#include "train/json_numbers.h"

namespace heed::train {
namespace {

using nlohmann::json;

constexpr const char* format_version = "1";
constexpr std::string_view optimizer_prefix = "optimizer/";
const std::string metadata_prefix = "heed.";
constexpr std::string_view checksum_key = "\"heed.checksum\":\"";
constexpr std::string_view no_checksum = "0000000000000000";

std::string checksum(std::string_view bytes) { return fmt::format("{:016x}", hash_of(bytes)); }

// JSON strings are Unicode: a byte travels as the code point of its value.
std::string bytes_to_text(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | (byte >> 6));
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

std::string text_to_bytes(const std::string& text) {
  std::string bytes;
  for (const std::string& point : data::code_points(text)) {
    const auto first = static_cast<unsigned char>(point[0]);
    bytes += point.size() == 1 ? point[0]
                               : static_cast<char>(((first & 0x03) << 6) |
                                                   (static_cast<unsigned char>(point[1]) & 0x3F));
  }
  return bytes;
}

json random_to_json(const RandomState& random) {
  return {random.seed, random.stream, random.offset};
}
RandomState random_from_json(const json& value) {
  return {whole_number<uint64_t>(value.at(0)), whole_number<uint64_t>(value.at(1)),
          whole_number<uint64_t>(value.at(2))};
}

std::string state_to_text(const TrainingState& state) {
  return json{{"step", state.step},
              {"optimizer_steps", state.optimizer_steps},
              {"epoch", state.epoch},
              {"steps_an_epoch", state.steps_an_epoch},
              {"position", state.position},
              {"epoch_random", random_to_json(state.epoch_random)},
              {"dropout_random", random_to_json(state.dropout_random)},
              {"schedule",
               {{"factor", state.schedule.factor},
                {"best", state.schedule.best},
                {"has_best", state.schedule.has_best},
                {"stale", state.schedule.stale}}},
              {"best", state.best},
              {"best_loss", state.best_loss},
              {"best_step", state.best_step},
              {"stale_validations", state.stale_validations},
              {"skipped_in_a_row", state.skipped_in_a_row},
              {"validation_due", state.validation_due},
              {"branch_of", state.branch_of},
              {"window_loss", state.window_loss},
              {"window_nll", state.window_nll},
              {"window_tokens", state.window_tokens},
              {"finished", state.finished}}
      .dump();
}

// What a run counts: more is a slip, and products of two still fit into 64 bits.
int64_t count(const json& value, int64_t least = 0) {
  constexpr int64_t most = 1'000'000'000'000;
  return whole_number<int64_t>(value, least, most);
}

TrainingState state_from_text(const std::string& text) {
  const json value = json::parse(text);
  TrainingState state;
  state.step = count(value.at("step"));
  state.optimizer_steps = count(value.at("optimizer_steps"));
  state.epoch = count(value.at("epoch"));
  state.steps_an_epoch = count(value.at("steps_an_epoch"), 1);
  state.position = count(value.at("position"));
  state.epoch_random = random_from_json(value.at("epoch_random"));
  state.dropout_random = random_from_json(value.at("dropout_random"));
  value.at("schedule").at("factor").get_to(state.schedule.factor);
  value.at("schedule").at("best").get_to(state.schedule.best);
  value.at("schedule").at("has_best").get_to(state.schedule.has_best);
  state.schedule.stale = count(value.at("schedule").at("stale"));
  value.at("best").get_to(state.best);
  state.best_loss = value.value("best_loss", state.best_loss);
  state.best_step = count(value.at("best_step"), -1);
  state.stale_validations = count(value.at("stale_validations"));
  state.skipped_in_a_row = count(value.value("skipped_in_a_row", json(0)));
  state.validation_due = value.value("validation_due", state.validation_due);
  state.branch_of = value.value("branch_of", state.branch_of);
  value.at("window_loss").get_to(state.window_loss);
  value.at("window_nll").get_to(state.window_nll);
  state.window_tokens = count(value.at("window_tokens"));
  value.at("finished").get_to(state.finished);
  return state;
}

// Where the checksum stands in the file; npos when it is not there.
size_t checksum_position(std::string_view bytes) {
  const size_t key = bytes.find(checksum_key);
  return key == std::string_view::npos ? key : key + checksum_key.size();
}

// Leaves zeros where the checksum stood, as when it was taken.
void verify_checksum(std::string& bytes, const std::string& path) {
  const size_t at = checksum_position(bytes);
  if (at == std::string::npos || at + no_checksum.size() > bytes.size()) {
    throw DamagedCheckpoint("checkpoint",
                            path.ends_with(".toml")
                                ? fmt::format("{0} is no checkpoint of heed; a config is trained "
                                              "first (heed train {0})",
                                              path)
                                : fmt::format("{} is no checkpoint of heed, or is damaged", path));
  }
  const std::string saved = bytes.substr(at, no_checksum.size());
  bytes.replace(at, no_checksum.size(), no_checksum);
  if (saved != checksum(bytes)) {
    throw DamagedCheckpoint(
        "checkpoint", fmt::format("{} is damaged: its content does not match its checksum", path));
  }
}

const std::string& metadata(const TensorFile& file, const std::string& key,
                            const std::string& path) {
  const auto found = file.metadata.find(key);
  HEED_CHECK_INPUT(found != file.metadata.end(), "checkpoint", "{}: {} is missing", path, key);
  return found->second;
}

}  // namespace

std::string encode_checkpoint(const Checkpoint& checkpoint) {
  TensorFile file;
  file.tensors = checkpoint.weights;
  for (const NamedTensor& entry : checkpoint.optimizer.tensors) {
    file.tensors.push_back({std::string(optimizer_prefix) + entry.name, entry.tensor});
  }
  file.metadata = {
      {"heed.checksum", std::string(no_checksum)},
      {"heed.format", format_version},
      {"heed.config", write_toml(checkpoint.config)},
      {"heed.state", state_to_text(checkpoint.state)},
      {"heed.aliases", json(checkpoint.aliases).dump()},
      {"heed.training_data", checkpoint.training_data},
  };
  for (const auto& [name, bytes] : checkpoint.text) {
    file.metadata.emplace(metadata_prefix + name, bytes_to_text(bytes));
  }
  std::string bytes = safetensors_encode(file);
  bytes.replace(checksum_position(bytes), no_checksum.size(), checksum(bytes));
  return bytes;
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  write_file("checkpoint", path, encode_checkpoint(checkpoint));
}

void check_same_data(const Checkpoint& saved, const std::string& fingerprint,
                     const std::string& name) {
  HEED_CHECK_INPUT(
      saved.training_data.empty() || saved.training_data == fingerprint, "run",
      "{} is not what {} was trained on: it was {}, it is {}; take the change back, or "
      "train anew in another folder (--run)",
      name, saved.path, saved.training_data, fingerprint);
}

Checkpoint load_checkpoint(const std::string& path) {
  return decode_checkpoint(read_file("checkpoint", path), path);
}

Checkpoint decode_checkpoint(std::string bytes, const std::string& path) {
  verify_checksum(bytes, path);
  TensorFile file = safetensors_decode(bytes, path);
  const auto field = [&](const std::string& key) { return metadata(file, key, path); };
  HEED_CHECK_INPUT(field("heed.format") == format_version, "checkpoint",
                   "{} has format {}, this heed reads {}; use the heed that wrote it", path,
                   field("heed.format"), format_version);
  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.config = parse_saved_config(field("heed.config"), path);
  const auto read = [&](const std::string& key, const auto& take) {
    try {
      take(field(key));
    } catch (const json::exception&) {
      throw InputError("checkpoint", fmt::format("{}: {} cannot be read", path, key));
    }
  };
  read("heed.state", [&](const std::string& text) { checkpoint.state = state_from_text(text); });
  read("heed.aliases",
       [&](const std::string& text) { json::parse(text).get_to(checkpoint.aliases); });
  if (file.metadata.contains("heed.training_data")) {
    checkpoint.training_data = field("heed.training_data");
  }
  // heed.SIDE.PART
  for (const auto& [key, value] : file.metadata) {
    if (std::count(key.begin(), key.end(), '.') == 2 && key.starts_with(metadata_prefix)) {
      checkpoint.text.emplace(key.substr(metadata_prefix.size()), text_to_bytes(value));
    }
  }
  for (NamedTensor& entry : file.tensors) {
    if (entry.name.starts_with(optimizer_prefix)) {
      checkpoint.optimizer.tensors.push_back(
          {entry.name.substr(optimizer_prefix.size()), entry.tensor});
    } else {
      checkpoint.weights.push_back(std::move(entry));
    }
  }
  return checkpoint;
}

}  // namespace heed::train
