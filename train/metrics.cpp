#include "train/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/file.h"
#include "core/logging.h"
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

// Bytes of the lines before the first event that comes again.
int64_t size_until(const std::string& path, int64_t last_step, bool validation_due) {
  const std::string text = read_file("metrics", path);
  size_t size = 0;
  for (int number = 1; size < text.size(); ++number) {
    const size_t end = text.find('\n', size);
    if (end == std::string::npos) {
      break;  // a kill cut it short
    }
    try {
      const MetricsEvent event = from_line(text.substr(size, end - size));
      if (event.step > last_step ||
          (validation_due && event.step == last_step && event.event == "validation")) {
        break;
      }
    } catch (const nlohmann::json::exception&) {
      log::warning("metrics", "{}:{}: is no event; it and what follows is cut off", path, number);
      break;
    }
    size = end + 1;
  }
  return static_cast<int64_t>(size);
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

MetricsFile::MetricsFile(std::string path, int64_t last_step, bool validation_due)
    : path_(std::move(path)) {
  if (std::filesystem::exists(path_)) {
    size_ = size_until(path_, last_step, validation_due);
  }
  file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  HEED_CHECK(file_.valid() && ::ftruncate(file_.number(), size_) == 0, "metrics",
             "{}: cannot be written: {}", path_, std::strerror(errno));
}

void MetricsFile::write(const MetricsEvent& event) {
  pending_ += to_line(event);
  write_pending();
}

void MetricsFile::sync() {
  HEED_CHECK(write_pending() && ::fsync(file_.number()) == 0, "metrics",
             "{}: cannot be written: {}", path_, std::strerror(errno));
}

// Part of a line that went out before the disk was full is taken back.
bool MetricsFile::write_pending() {
  if (!file_.write_all(pending_)) {
    const int why = errno;
    static_cast<void>(!::ftruncate(file_.number(), size_));
    errno = why;
    return false;
  }
  size_ += static_cast<int64_t>(pending_.size());
  pending_.clear();
  return true;
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
