// A removal that is held back, because what we see may not be all there is. It is told three ways:
// by a gauge for as long as it lasts, and once per reason by the log and by an event on the
// namespace kube-system.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/cloud/ownership.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::controllers {

// How it is spoken of.
struct WithheldWords {
  std::string reason;  // Of the event.
  std::string what;    // That is kept: "Routes without a Node".
};

// A resource; the doors outlive it.
class Withheld final {
 public:
  Withheld(WithheldWords words, Gauge& gauge, kube::Recorder& recorder, Logger& log)
      : words_(std::move(words)), gauge_(gauge), recorder_(recorder), log_(log) {}

  // So many are kept. `why` is the same text for as long as the reason is the same.
  void hold(const cloud::ClusterUid& cluster, std::size_t count, const std::string& why);

  // Nothing is held back any more.
  void release();

  bool holds() const { return !why_.empty(); }

 private:
  const WithheldWords words_;
  Gauge& gauge_;
  kube::Recorder& recorder_;
  Logger& log_;
  std::string why_;  // As it was told last; empty: nothing is held back.
};

}  // namespace isthmus::controllers
