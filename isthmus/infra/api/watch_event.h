// One line of `GET /v1/watch?from=REVISION` (machines), or of `GET /v1/owners/OWNER/watch?from=…`
// (the other kinds): line-delimited JSON, each line one event.
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
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/pool.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/api/route_table.h"
#include "isthmus/infra/api/target_set.h"

namespace isthmus::infra::api {

struct WatchEvent {
  enum class Type : std::uint8_t {
    changed,   // The object is new or different; also a machine that became unknown.
    removed,   // The object is gone (a machine: retired); its last value is carried, without
               // targets or routes.
    bookmark,  // Everything up to the revision has been sent.
    problem,   // The stream ends here, for this reason.
    other,     // A type or kind of object that this client does not know: pass over it.
  };
  Type type = Type::other;
  std::uint64_t revision = 0;
  std::optional<Instance> instance;  // changed, removed: this or one of the others below.
  std::optional<Problem> problem;    // problem

  std::optional<LoadBalancer> load_balancer;
  std::optional<TargetSet> target_set;
  std::optional<RouteTable> route_table;
  std::optional<Pool> pool;
  std::optional<AllocatedAddress> address;

  friend bool operator==(const WatchEvent&, const WatchEvent&) = default;
};

std::string_view to_string(WatchEvent::Type type);

// One line without its line feed.
std::string encode(const WatchEvent& event);

// Reads one line. Lost: not JSON, or type, revision or what the type requires missing or ill-typed.
Result<WatchEvent> decode_watch_event(std::string_view line);

}  // namespace isthmus::infra::api
