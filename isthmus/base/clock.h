// Time, as two types that cannot be mixed up.
//
// A Moment is monotonic: it orders events and carries deadlines, and means nothing outside this
// process. A WallTime is what people and other machines call the time; it may jump, so nothing is
// ever scheduled by it. Both come from a Clock, which is a door: only the outermost wiring opens a
// real one, and a test or simulator tells the time instead.
#pragma once

#include <chrono>
#include <string>

namespace isthmus {

using Duration = std::chrono::nanoseconds;

struct MonotonicTimeline {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicTimeline>;
  static constexpr bool is_steady = true;
};

// Time since an arbitrary origin that is fixed for the life of the process.
using Moment = std::chrono::time_point<MonotonicTimeline, Duration>;

// The moment so much later; one that lies beyond the end of time is the end of time, so that
// "never" can be written as Duration::max().
constexpr Moment later(Moment moment, Duration duration) {
  if (duration > Duration::zero() && moment > Moment::max() - duration) return Moment::max();
  return moment + duration;
}

struct WallTimeline {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WallTimeline>;
  static constexpr bool is_steady = false;
};

// Time since 1970-01-01T00:00:00Z, without leap seconds.
using WallTime = std::chrono::time_point<WallTimeline, Duration>;

// Tells the time. Both answers are constant during one turn of the loop, so that everything that
// happens in a turn happens "at once" and a run can be repeated exactly.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Moment now() const = 0;
  virtual WallTime wall_now() const = 0;
};

// RFC 3339 in UTC as the Kubernetes API writes it: whole seconds ("2026-11-29T20:47:43Z"), or, for
// metav1.MicroTime, always six fractional digits ("2026-11-29T20:47:43.000000Z").
std::string rfc3339(WallTime time);
std::string rfc3339_micro(WallTime time);

}  // namespace isthmus
