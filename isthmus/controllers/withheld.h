// A removal that is held back, because what we see may not be all there is. It is told three ways:
// by a gauge for as long as it lasts, and by the log and an event on the namespace kube-system: at
// first, after an hour again, and with a new reason every ten minutes at the most.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/cloud/ownership.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::controllers {

// How it is spoken of.
struct WithheldWords {
  std::string reason;  // Of the event.
  std::string what;    // That is kept: "Load balancers without a Service".
};

// A resource; the doors outlive it.
class Withheld final {
 public:
  Withheld(WithheldWords words, Gauge& gauge, kube::Recorder& recorder, const Clock& clock,
           Logger& log)
      : words_(std::move(words)), gauge_(gauge), recorder_(recorder), clock_(clock), log_(log) {}

  // So many are kept, and why.
  void hold(const cloud::ClusterUid& cluster, std::size_t count, const std::string& why);

  // Nothing is held back any more.
  void release();

  bool holds() const { return !why_.empty(); }

 private:
  const WithheldWords words_;
  Gauge& gauge_;
  kube::Recorder& recorder_;
  const Clock& clock_;
  Logger& log_;
  std::string why_;  // As it was told last; empty: nothing is held back.
  Moment told_at_ = {};
};

}  // namespace isthmus::controllers
