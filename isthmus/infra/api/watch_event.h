// One line of `GET /v1/watch?from=REVISION`: line-delimited JSON, each line one event.
//
// A client lists, then watches from the list's revision, and remembers the revision of every event
// it took in: it is where to watch from after a cut. (Where several objects changed as one, all but
// the last event carry the revision before, so none is missed.) A bookmark carries no object and
// only moves that revision on. After a `problem` (for instance revision-gone: the history no longer
// reaches back that far) the stream ends and the client lists anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"
#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/api/problem.h"

namespace isthmus::infra::api {

struct WatchEvent {
  enum class Type : std::uint8_t {
    changed,   // The instance is new or different; also when it became unknown.
    removed,   // The instance was retired; its last value is carried, with presence absent.
    bookmark,  // Everything up to the revision has been sent.
    problem,   // The stream ends here, for this reason.
    other,     // A type or kind of object that this client does not know: pass over it.
  };
  Type type = Type::other;
  std::uint64_t revision = 0;
  std::optional<Instance> instance;  // changed, removed
  std::optional<Problem> problem;    // problem

  friend bool operator==(const WatchEvent&, const WatchEvent&) = default;
};

std::string_view to_string(WatchEvent::Type type);

// One line without its line feed.
std::string encode(const WatchEvent& event);

// Reads one line. Lost: not JSON, or type, revision or what the type requires missing or ill-typed.
Result<WatchEvent> decode_watch_event(std::string_view line);

}  // namespace isthmus::infra::api
