// How long we may still act as the leader.
//
// The elector prolongs it with every renewal, counting from the moment the renewal was *sent*, and
// whoever changes something outside asks it right before sending and gives the call no more time
// than is left. So a process that was frozen in the middle of its work finds, before its first
// breath, that it may no longer write.
#pragma once

#include "isthmus/base/clock.h"

namespace isthmus::kube {

// A resource. It begins as not leading.
class LeaseLife {
 public:
  explicit LeaseLife(const Clock& clock) : clock_(clock) {}
  LeaseLife(const LeaseLife&) = delete;
  LeaseLife& operator=(const LeaseLife&) = delete;

  bool holds() const { return clock_.now() < until_; }

  // Nothing may be sent from this moment on, nor be waited for; in the past when not leading.
  Moment until() const { return until_; }

  // For the elector.
  void set_until(Moment until) { until_ = until; }
  void end() { until_ = Moment::min(); }

 private:
  const Clock& clock_;
  Moment until_ = Moment::min();
};

}  // namespace isthmus::kube
