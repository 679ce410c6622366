// The objects of one type, watched: the store, what fills it, and how well that goes.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "isthmus/app/manager.h"
#include "isthmus/kube/store.h"
#include "isthmus/kube/watcher.h"

namespace isthmus::app {

// A watch that broke and was not resumed within this time is an outage.
inline constexpr Duration kWatchGone = std::chrono::seconds(15);

// A resource; the doors outlive it, and it outlives the run of its watcher.
template <class T>
struct Watched {
  Watched(const ManagerDoors& doors, kube::Projection projection, kube::WatcherOptions options = {})
      : sink(store, projection),
        watcher(doors.watch_api, T::resource, sink, doors.loop, doors.random, doors.metrics,
                doors.log, std::move(options)) {}
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // lost: there is no complete list yet, or the server has not been heard for too long.
  Result<> check(Moment now) const {
    const std::string plural(T::resource.plural);
    if (!store.has_synced()) {
      const std::string why = watcher.refusal() ? ": " + watcher.refusal()->message : "";
      return fail(Outcome::lost, "no complete list of " + plural + " yet" + why);
    }
    const Duration silence_max = watcher.is_following() ? watcher.idle_max() : Duration::zero();
    if (now - watcher.last_heard() <= silence_max + kWatchGone) return {};
    return fail(Outcome::lost, "the watch of " + plural + " is " + std::string(watcher.state()));
  }

  kube::Store<T> store;
  kube::StoreSink<T> sink;
  kube::Watcher watcher;
};

}  // namespace isthmus::app
