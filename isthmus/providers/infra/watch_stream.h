// Reading the watch of an owner, whatever one listens for: line by line, until it ends or nothing
// comes any more.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/net/lines.h"

namespace isthmus::providers::infra {

// The API promises a bookmark every 30 seconds on a quiet stream: after two of them that did not
// come, and some patience, nobody is there any more.
inline constexpr Duration kSilenceMax = std::chrono::seconds(75);

// Who listens.
class WatchReader {
 public:
  virtual ~WatchReader() = default;

  // Takes in one line. An error ends the reading.
  virtual Result<> take(std::string_view line, Moment now) = 0;

  // When on_due() is to be called, if at all.
  virtual std::optional<Moment> due() const { return std::nullopt; }
  virtual void on_due() {}
};

// Reads until the stream ends, is silent for too long (both lost), or the reader or the transport
// fails.
Task<Result<>> read_watch(net::LineReader& lines, WatchReader& reader);

}  // namespace isthmus::providers::infra
