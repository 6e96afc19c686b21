#include "train/metrics.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/file.h"
#include "train/json_numbers.h"

namespace heed::train {
namespace {

using nlohmann::ordered_json;

std::string to_line(const MetricsEvent& event) {
  ordered_json line;
  line["event"] = event.event;
  line["step"] = event.step;
  line["epoch"] = event.epoch;
  for (const auto& [name, value] : event.values) {
    if (std::isfinite(value)) {
      line[name] = value;
    }
  }
  return line.dump() + "\n";
}

MetricsEvent from_line(const std::string& text) {
  const ordered_json line = ordered_json::parse(text);
  MetricsEvent event;
  event.event = line.at("event").get<std::string>();
  event.step = whole_number<int64_t>(line.at("step"));
  event.epoch = line.at("epoch").get<double>();
  for (const auto& [name, value] : line.items()) {
    if (name != "event" && name != "step" && name != "epoch" && value.is_number()) {
      event.values.emplace_back(name, value.get<double>());
    }
  }
  return event;
}

}  // namespace

double MetricsEvent::value(const std::string& name) const {
  for (const auto& [key, number] : values) {
    if (key == name) {
      return number;
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

MetricsFile::MetricsFile(std::string path, int64_t last_step) : path_(std::move(path)) {
  if (std::filesystem::exists(path_)) {
    std::string kept;
    for (const MetricsEvent& event : read_metrics(path_)) {
      if (event.step <= last_step) {
        kept += to_line(event);
      }
    }
    write_file("metrics", path_, kept);
  }
  file_.open(path_, std::ios::app);
  HEED_CHECK(file_.good(), "metrics", "{} cannot be written", path_);
}

void MetricsFile::write(const MetricsEvent& event) {
  file_ << to_line(event) << std::flush;
  HEED_CHECK(file_.good(), "metrics", "{} cannot be written; is the disk full?", path_);
}

std::vector<MetricsEvent> read_metrics(const std::string& path) {
  std::istringstream lines(read_file("metrics", path));
  std::vector<MetricsEvent> events;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    // A line that a kill cut short is the last one and has no newline.
    if (lines.eof()) {
      break;
    }
    try {
      events.push_back(from_line(line));
    } catch (const nlohmann::json::exception&) {
      throw InputError("metrics", fmt::format("{}:{}: is no event", path, number));
    }
  }
  return events;
}

}  // namespace heed::train
