// Whether anything may be deleted at all: one switch for everything that deletes, Nodes, routes and
// backends alike, thrown by whoever catches the cloud in a contradiction.
#pragma once

#include <string>
#include <utility>

#include "isthmus/base/clock.h"

namespace isthmus::cloud {

// A resource; outlives who asks it. What follows from a view of the cloud that misses something is
// not to be done while it is stopped; what somebody has asked for (a Service that is deleted, say)
// is no such thing.
class DeletionStop final {
 public:
  DeletionStop() = default;
  DeletionStop(const DeletionStop&) = delete;
  DeletionStop& operator=(const DeletionStop&) = delete;

  // Stops until then; what ends earlier than what was said before changes nothing.
  void stop_until(Moment until, std::string why) {
    if (until <= until_) return;
    until_ = until;
    why_ = std::move(why);
  }

  bool stopped(Moment now) const { return now < until_; }

  // When it ends by itself, and why it began: of the last time, also when that is over.
  Moment until() const { return until_; }
  const std::string& why() const { return why_; }

 private:
  Moment until_ = Moment::min();
  std::string why_;
};

}  // namespace isthmus::cloud
