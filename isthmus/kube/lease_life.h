// How long we may still act as the leader.
//
// The elector prolongs it with every renewal, counting from the moment the renewal was *sent*, and
// the gate that all changes pass (base/write_gate.h) asks it right before each is sent and gives it
// no more time than is left. So a process that was frozen in the middle of its work finds, before
// its first breath, that it may no longer write.
#pragma once

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"

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

  // The same as a rule of a WriteGate, whose name is kRule.
  static constexpr const char* kRule = "lease";
  Result<Moment> allows() const {
    if (holds()) return until_;
    return fail(Outcome::cancelled, "we do not hold the lease");
  }

  // For the elector.
  void set_until(Moment until) { until_ = until; }
  void end() { until_ = Moment::min(); }

 private:
  const Clock& clock_;
  Moment until_ = Moment::min();
};

}  // namespace isthmus::kube
