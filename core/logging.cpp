#include "core/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <utility>

#include "core/error.h"

namespace heed::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      break;
  }
  return spdlog::level::off;
}

// The terminal and, once a run has one, its file. Never destroyed, so that anything may log at
// exit.
struct Logger {
  Logger()
      : terminal(std::make_shared<spdlog::sinks::stderr_color_sink_mt>()),
        all(std::make_shared<spdlog::sinks::dist_sink_mt>()),
        logger("heed", all) {
    terminal->set_pattern("%v");
    all->add_sink(terminal);
    logger.set_level(spdlog::level::info);
    logger.flush_on(spdlog::level::debug);
  }
  std::shared_ptr<spdlog::sinks::stderr_color_sink_mt> terminal;
  std::shared_ptr<spdlog::sinks::dist_sink_mt> all;  // its sinks change while others write
  std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> held;
  spdlog::logger logger;
  std::atomic<Level> level = Level::info;
};

Logger& instance() {
  static auto* const logger = new Logger;
  return *logger;
}

}  // namespace

void set_level(Level level) {
  instance().level = level;
  instance().logger.set_level(to_spdlog(level));
}

Level level() { return instance().level; }

void set_file(const std::string& path) {
  Logger& logger = instance();
  logger.all->set_sinks({logger.terminal});
  const auto held = std::exchange(logger.held, nullptr);
  if (path.empty()) {
    return;
  }
  try {
    auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    file->set_pattern("%Y-%m-%d %H:%M:%S %v");
    if (held) {
      for (const auto& line : held->last_raw()) {
        file->log(line);
      }
      file->flush();
    }
    logger.all->add_sink(std::move(file));
  } catch (const spdlog::spdlog_ex& failure) {
    throw Error("log", failure.what());  // names the file and the reason
  }
}

void hold() {
  Logger& logger = instance();
  logger.held = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(1000);
  logger.all->set_sinks({logger.terminal, logger.held});
}

void write(Level level, std::string_view area, std::string_view text) {
  const std::string_view mark = level == Level::warning ? "warning: "
                                : level == Level::error ? "error: "
                                                        : "";
  instance().logger.log(to_spdlog(level), fmt::format("[{}] {}{}", area, mark, text));
}

}  // namespace heed::log
