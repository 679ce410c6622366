// Logging: a sentence for people and named values for machines.
//
//   log_.info("node initialized", {{"node", name}, {"tries", tries}});
// becomes
//   I1129 20:47:43.000000    4711 node.cc:88] "node initialized" node="n1" tries=3
//
// A Logger is a door like any other and is passed to constructors. The message is a constant
// without values in it, so that all lines of one kind can be found; values are fields.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"

namespace isthmus {

enum class Level : std::uint8_t {
  debug,    // For whoever hunts a bug; off by default.
  info,     // Something was done or changed.
  warning,  // Works on, but somebody should look.
  error,    // Something that should work does not.
};

// A name and a value, borrowed for the call. A Secret does not compile; an Error becomes
// "outcome: message"; a Duration is written as Go does.
class Field {
 public:
  using Value =
      std::variant<std::string_view, std::string, std::int64_t, std::uint64_t, double, bool>;

  template <std::convertible_to<std::string_view> Text>
  Field(std::string_view key_, const Text& text) : key(key_), value(std::string_view(text)) {}
  template <std::same_as<bool> Truth>
  Field(std::string_view key_, Truth truth) : key(key_), value(truth) {}
  template <std::signed_integral Number>
  Field(std::string_view key_, Number number) : key(key_), value(std::int64_t{number}) {}
  template <std::unsigned_integral Number>
    requires(!std::same_as<Number, bool>)
  Field(std::string_view key_, Number number) : key(key_), value(std::uint64_t{number}) {}
  template <std::floating_point Number>
  Field(std::string_view key_, Number number) : key(key_), value(double{number}) {}
  Field(std::string_view key_, Duration duration);
  Field(std::string_view key_, Outcome outcome) : key(key_), value(to_string(outcome)) {}
  Field(std::string_view key_, const Error& error);
  Field(std::string_view key_, const Secret&) = delete;

  std::string_view key;
  Value value;
};

struct LogRecord {
  Level level;
  std::string_view message;
  std::span<const Field> fields;
  std::source_location where;
};

class Logger {
 public:
  using Fields = std::initializer_list<Field>;
  using Where = std::source_location;

  virtual ~Logger() = default;

  // Never fails and never waits for anything but the log's own file.
  virtual void write(const LogRecord& record) = 0;

  void debug(std::string_view message, Fields fields = {}, Where where = Where::current()) {
    write({Level::debug, message, fields, where});
  }
  void info(std::string_view message, Fields fields = {}, Where where = Where::current()) {
    write({Level::info, message, fields, where});
  }
  void warning(std::string_view message, Fields fields = {}, Where where = Where::current()) {
    write({Level::warning, message, fields, where});
  }
  void error(std::string_view message, Fields fields = {}, Where where = Where::current()) {
    write({Level::error, message, fields, where});
  }
};

// `"node initialized" node="n1" tries=3`: the part of a line behind its header. Quotes and control
// characters are escaped, so a record is always one line; a longer value is cut at
// kLogValueBytesMax.
std::string log_text(const LogRecord& record);
inline constexpr std::size_t kLogValueBytesMax = 8 * 1024;

enum class LogFormat : std::uint8_t {
  text,  // As klog writes: level, date and time in UTC, process, place, then log_text().
  json,  // As Kubernetes' JSON logs: {"ts":<ms since 1970>,"caller":…,"level":…,"msg":…,fields…}.
};

// Writes to standard error.
class StderrLogger final : public Logger {
 public:
  // Records below the threshold are dropped. The clock stamps the records.
  StderrLogger(const Clock& clock, LogFormat format, Level threshold);
  ~StderrLogger() override;
  void write(const LogRecord& record) override;

 private:
  struct Sink;

  const Clock& clock_;
  const LogFormat format_;
  const Level threshold_;
  std::unique_ptr<Sink> sink_;
};

// Throws everything away.
class NullLogger final : public Logger {
 public:
  void write(const LogRecord&) override {}
};

// Keeps everything, for tests.
class MemoryLogger final : public Logger {
 public:
  struct Line {
    Level level;
    std::string text;  // log_text() of the record.
  };
  void write(const LogRecord& record) override {
    lines.push_back({record.level, log_text(record)});
  }
  // Whether any line has this in it.
  bool mentions(std::string_view part) const;

  std::vector<Line> lines;
};

}  // namespace isthmus
