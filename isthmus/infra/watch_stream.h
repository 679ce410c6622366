// GET /v1/watch: everything that changes after a revision, as lines of JSON.
//
// The stream reads the store only as fast as its client reads it, so a slow client costs nothing
// but its connection; one that falls behind the history is told so and lists anew.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/api/watch_event.h"
#include "isthmus/infra/instances.h"
#include "isthmus/infra/store/store.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

// The document promises one at least every 30 seconds.
inline constexpr Duration kBookmarkPeriod = std::chrono::seconds(15);

// Each open watch costs a connection and a coroutine, some 10 KB in plain and 75 KB with TLS.
inline constexpr std::size_t kWatchesMax = 512;

// What the changes after `before` look like to a client, in whole commits: all events but the last
// of a commit carry the revision before it. lost: a damaged record.
Result<std::vector<api::WatchEvent>> events_of(const Changes& changes, Revision before,
                                               const Instances& instances);

// The store, the instances and the metrics outlive it.
class WatchStream {
 public:
  WatchStream(Store& store, Instances& instances, Metrics& metrics);

  // ok, or the store's error that keeps a watch from this revision from being opened.
  Task<Result<>> check(Revision from);

  // Serves one client until it leaves (lost), the scope ends, or there is nothing more to say to it
  // (ok): what stops the stream is its last event. `allowed` is asked before each write whether
  // this client may still see it; `answer` are the headers of the answer.
  Task<Result<>> serve(Revision from, std::function<bool()> allowed, net::Headers answer,
                       net::ResponseWriter& writer);

  std::size_t open() const { return open_; }

 private:
  Task<Result<>> pump(Revision from, std::function<bool()> allowed, net::ResponseWriter& writer);

  Store& store_;
  Instances& instances_;
  Gauge& watches_;
  Counter& events_;
  std::size_t open_ = 0;
};

}  // namespace isthmus::infra
