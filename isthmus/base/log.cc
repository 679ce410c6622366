#include "isthmus/base/log.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "isthmus/base/duration.h"
#include "isthmus/base/text.h"

namespace isthmus {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string value_text(const Field::Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        if constexpr (std::convertible_to<decltype(held), std::string_view>) {
          return quoted(shortened(held, kLogValueBytesMax));
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

// Infinity and "not a number" exist in double but not in JSON.
std::string value_json(const Field::Value& value) {
  const std::string text = value_text(value);
  if (!std::holds_alternative<double>(value)) return text;
  return std::isfinite(std::get<double>(value)) ? text : quoted(text);
}

std::string_view level_word(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  ISTHMUS_ASSERT(false, "a Level that has no name");
}

// klog knows no letter for debug; its verbose lines are marked I like any other.
spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::debug:
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  ISTHMUS_ASSERT(false, "a Level that spdlog does not know");
}

std::string json_text(const LogRecord& record, WallTime time) {
  const auto ms = std::chrono::duration<double, std::milli>(time.time_since_epoch()).count();
  const auto caller =
      fmt::format("{}:{}", base_name(record.where.file_name()), record.where.line());
  std::string text =
      fmt::format(R"({{"ts":{:.3f},"caller":{},"level":"{}","msg":{})", ms, quoted(caller),
                  level_word(record.level), quoted(shortened(record.message, kLogValueBytesMax)));
  for (const Field& field : record.fields) {
    text += fmt::format(",{}:{}", quoted(field.key), value_json(field.value));
  }
  return text + "}";
}

}  // namespace

Field::Field(std::string_view key_, Duration duration)
    : key(key_), value(format_duration(duration)) {}

Field::Field(std::string_view key_, const Error& error)
    : key(key_), value(fmt::format("{}: {}", to_string(error.outcome), error.message)) {}

std::string log_text(const LogRecord& record) {
  std::string text = quoted(shortened(record.message, kLogValueBytesMax));
  for (const Field& field : record.fields) {
    text += fmt::format(" {}={}", field.key, value_text(field.value));
  }
  return text;
}

// One thread writes, so the sink without a lock does.
struct StderrLogger::Sink {
  spdlog::logger logger{"", std::make_shared<spdlog::sinks::stderr_sink_st>()};
};

StderrLogger::StderrLogger(const Clock& clock, LogFormat format, Level threshold)
    : clock_(clock), format_(format), threshold_(threshold), sink_(std::make_unique<Sink>()) {
  sink_->logger.set_pattern(format == LogFormat::json ? "%v" : "%L%m%d %T.%f %7P %s:%#] %v",
                            spdlog::pattern_time_type::utc);
}

StderrLogger::~StderrLogger() = default;

void StderrLogger::write(const LogRecord& record) {
  if (record.level < threshold_) return;
  const WallTime now = clock_.wall_now();
  const std::string text = format_ == LogFormat::json ? json_text(record, now) : log_text(record);
  const spdlog::log_clock::time_point time{
      std::chrono::duration_cast<spdlog::log_clock::duration>(now.time_since_epoch())};
  const spdlog::source_loc where{record.where.file_name(), static_cast<int>(record.where.line()),
                                 record.where.function_name()};
  sink_->logger.log(time, where, spdlog_level(record.level), spdlog::string_view_t(text));
}

bool MemoryLogger::mentions(std::string_view part) const {
  return std::ranges::any_of(
      lines, [part](const Line& line) { return line.text.find(part) != std::string::npos; });
}

}  // namespace isthmus
