// What the kubelets say of themselves: the Leases of kube-node-lease, by name of the Node.
//
// They are the witness that does not depend on the cloud. A kubelet renews its Lease every ten
// seconds, so nobody watches them: they are listed when somebody has a reason to ask.
//
// A renewTime was written by another machine's clock and is never compared with ours. What counts
// is when *we* saw it move: between two looks that show different texts there was a renewal, and
// between two that show the same there was none. So the first look at a Lease says nothing about
// its age; it takes two.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"

namespace isthmus::controllers {

// One kubelet, as far as its Lease tells.
struct Heartbeat {
  std::string renew_time = {};  // As it is written; empty: it never was.

  // When the answer came that showed this text first: it has not been renewed since, up to as_of.
  Moment silent_since = {};

  // It was renewed later than this; nullopt: it has shown no other text yet.
  std::optional<Moment> renewed_after = {};

  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

// All of them in one complete look. A value.
struct HeartbeatList {
  // When the question was sent: what happened later may be missing.
  Moment as_of = {};

  std::map<std::string, Heartbeat, std::less<>> leases = {};

  // Their Lease is there and cannot be read: nothing is known of them, silence least of all.
  std::set<std::string, std::less<>> unreadable = {};

  // Nodes whose Lease was there once and is not any more: when the first answer without it came.
  std::map<std::string, Moment, std::less<>> vanished = {};

  // No answer before this one is remembered of Nodes in none of the three.
  Moment looking_since = {};

  // For how long, at least, the kubelet of this Node had been silent at `as_of`; zero when it was
  // seen the first time or to renew just then. A Node without a Lease is as silent as one that
  // does not renew it, and may be younger than the answer: compare with its age. nullopt: its Lease
  // cannot be read.
  std::optional<Duration> silence(std::string_view node) const;

  // Whether it was certainly renewed after that moment.
  bool is_renewed_after(std::string_view node, Moment moment) const;

  friend bool operator==(const HeartbeatList&, const HeartbeatList&) = default;
};

using HeartbeatSnapshot = std::shared_ptr<const HeartbeatList>;

class Heartbeats {
 public:
  virtual ~Heartbeats() = default;

  // A look that is no older than that; zero: one that is sent now. Many who ask share one list.
  // Every page of it was read, or it is an error: those of ApiDoor::list, `denied` above all where
  // the role has no right to list Leases.
  virtual Task<Result<HeartbeatSnapshot>> read(Duration max_age) = 0;
};

}  // namespace isthmus::controllers
