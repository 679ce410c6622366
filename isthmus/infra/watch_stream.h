// A watch: everything that changes after a revision, as lines of JSON.
//
// The stream reads the store only as fast as its client reads it, so a slow client costs nothing
// but its connection; one that falls behind the history is told so and lists anew.
#pragma once

#include <cstddef>
#include <functional>

#include "isthmus/base/clock.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/event_source.h"
#include "isthmus/infra/store/store.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

// The document promises one at least every 30 seconds.
inline constexpr Duration kBookmarkPeriod = std::chrono::seconds(15);

// Each open watch costs a connection and a coroutine, some 10 KB in plain and 75 KB with TLS.
inline constexpr std::size_t kWatchesMax = 512;

// The store and the metrics outlive it.
class WatchStream {
 public:
  WatchStream(Store& store, Metrics& metrics);

  // ok, or the store's error that keeps a watch from this revision from being opened.
  Task<Result<>> check(Revision from);

  // Serves one client until it leaves (lost), the scope ends, or there is nothing more to say to it
  // (ok): what stops the stream is its last event. The source outlives the call. `allowed` is asked
  // before each write whether this client may still see it; `answer` are the headers of the answer.
  Task<Result<>> serve(Revision from, EventSource& source, std::function<bool()> allowed,
                       net::Headers answer, net::ResponseWriter& writer);

  std::size_t open() const { return open_; }

 private:
  Task<Result<>> pump(Revision from, EventSource& source, std::function<bool()> allowed,
                      net::ResponseWriter& writer);

  Store& store_;
  Gauge& watches_;
  Counter& events_;
  std::size_t open_ = 0;
};

}  // namespace isthmus::infra
