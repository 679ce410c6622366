// The controller runner: turns keys into runs of reconcile, one at a time per key.
//
// Retrying happens here and nowhere else. A reconciler answers with what should happen next, or
// with the error that stopped it, and the outcome decides when its key comes again:
//
//   done                              not until something changes
//   again_after(d)                    in d, by -10 to +10 % so that nothing ticks in lockstep
//   conflict, lost, absent, deadline,
//   cancelled                         back off, per key: 1 s doubling to 2 min, half jitter
//   busy                              at the time the other side named, up to 10 % later; it named
//                                     none: back off
//   denied                            in about a minute: rights are given back without a word to us
//   invalid, unsupported              parked: only a change helps, of the object (which comes with
//                                     a new run at once) or elsewhere (looked at every 10 min)
//
// A change of the object comes at once whatever its key waits for, and fresh changes overtake
// resyncs. Success forgets the failures before it.
//
// Reconcilers of one kind share a runner (the node and the node-lifecycle controller): they run for
// a key one after the other, under that key, so two of them never act on one object at once. All of
// them run even if one fails; the earliest of what they ask for counts.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/base/work_queue.h"
#include "isthmus/kube/api/meta.h"
#include "isthmus/kube/store.h"

namespace isthmus::kube {

// What should happen next to a key that was dealt with.
class Action {
 public:
  // Nothing until something changes. Only right if every change that matters is watched.
  static Action done() { return Action(std::nullopt); }
  // Also look again after this long (before jitter); must be positive.
  static Action again_after(Duration delay);

  std::optional<Duration> delay() const { return delay_; }
  friend bool operator==(const Action&, const Action&) = default;

 private:
  explicit Action(std::optional<Duration> delay) : delay_(delay) {}
  std::optional<Duration> delay_;
};

class Reconciler {
 public:
  virtual ~Reconciler() = default;
  virtual std::string_view name() const = 0;  // "cloud-node-controller": in logs and metrics.

  // Makes the world right for one key, whatever happened to it. The key may name nothing any more.
  virtual Task<Result<Action>> reconcile(ObjectKey key) = 0;
};

inline constexpr Duration kDeniedAgainAfter = std::chrono::minutes(1);

struct ControllerOptions {
  std::string queue;         // The `name` of its workqueue_* metrics: "Nodes".
  std::size_t workers = 10;  // Runs at once; at least 1.
  Duration run_timeout = std::chrono::minutes(5);  // Then the run ends with `deadline`.
  Duration park_for = std::chrono::minutes(10);
};

// A resource. The reconcilers, which it calls in this order, outlive it.
class Controller {
 public:
  Controller(ControllerOptions options, std::vector<std::reference_wrapper<Reconciler>> reconcilers,
             Loop& loop, Random& random, Metrics& metrics, Logger& log);
  ~Controller();

  // Puts a key in the queue; merges with the same key waiting there.
  void enqueue(ObjectKey key, Priority priority = Priority::fresh);

  // The same after a delay: of several the earliest counts.
  void enqueue_after(ObjectKey key, Duration delay, Priority priority = Priority::resync);

  // Enqueues the key of every difference that `matters`; what was there at the start comes as a
  // resync. The filter keeps heartbeats from defeating the backoff: it names the fields that count.
  template <class T>
  void follow(Store<T>& store, std::function<bool(const Difference<T>&)> matters) {
    store.subscribe([this, matters = std::move(matters)](const Difference<T>& difference) {
      if (!matters(difference)) return;
      enqueue(difference.key, difference.initial ? Priority::resync : Priority::fresh);
    });
  }

  // Runs the workers until the scope is cancelled, or until stop() and no run is left (ok).
  Task<Result<>> run();

  // Starts nothing new from now on, not even what waits; runs that are under way end by themselves.
  void stop();

  // For how long the longest run that is under way has been; zero: none is.
  Duration longest_running() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace isthmus::kube
