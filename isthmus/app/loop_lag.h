// Whether the event loop keeps up: a task asks to be woken every second and measures how late it
// is. All that the program does waits at least as long.
#pragma once

#include <chrono>

#include "isthmus/base/clock.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"

namespace isthmus::app {

// A resource; the clock outlives it.
class LoopLag final {
 public:
  static constexpr Duration kTick = std::chrono::seconds(1);

  // So late, so many times in a row, means stuck: far beyond any turn that is only busy, and well
  // before a lease is lost for it. Once is a machine that slept or a process that was stopped.
  static constexpr Duration kLagMax = std::chrono::seconds(2);
  static constexpr int kLateTicksMax = 3;

  LoopLag(const Clock& clock, Metrics& metrics);

  // Until its scope is cancelled.
  Task<Result<>> run();

  // busy: the loop has been late again and again.
  Result<> check() const;

 private:
  const Clock& clock_;
  Histogram& lag_;
  int late_ticks_ = 0;  // In a row, up to now.
};

}  // namespace isthmus::app
