#include "isthmus/infra/watch_stream.h"

#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/infra/counted.h"
#include "isthmus/infra/instance_record.h"
#include "isthmus/infra/responses.h"

namespace isthmus::infra {
namespace {

using api::WatchEvent;

// Taken from the store at once, unless one commit is larger: some 250 KB.
constexpr std::size_t kChangesMax = 500;

// Written to the client at once.
constexpr std::size_t kChunkBytes = 64 * 1024;

WatchEvent bookmark(Revision revision) {
  WatchEvent event;
  event.type = WatchEvent::Type::bookmark;
  event.revision = revision;
  return event;
}

WatchEvent farewell(Revision revision, api::Problem problem) {
  WatchEvent event;
  event.type = WatchEvent::Type::problem;
  event.revision = revision;
  event.problem = std::move(problem);
  return event;
}

Task<Result<>> wait_until_closed(net::ResponseWriter& writer) {
  Result<> closed = co_await writer.closed();
  co_return closed;
}

// In pieces, so that a client who reads slowly is given its time for each, and others theirs.
Task<Result<>> write(const std::vector<WatchEvent>& events, net::ResponseWriter& writer) {
  std::string lines;
  for (const WatchEvent& event : events) {
    lines += encode(event) + "\n";
    bool full = lines.size() >= kChunkBytes || &event == &events.back();
    if (full) CO_TRY(co_await writer.chunk(std::exchange(lines, {})));
  }
  co_return Result<>{};
}

// The pump's way to end its sibling, who waits for the client to leave.
std::unexpected<Error> said_everything() {
  return fail(Outcome::absent, "the watch has nothing more to say");
}

}  // namespace

WatchStream::WatchStream(Store& store, Metrics& metrics)
    : store_(store),
      watches_(metrics.gauge("infra_watches", "Open watches.")),
      events_(metrics.counter("infra_watch_events_total", "Events sent to watches.")) {}

Task<Result<>> WatchStream::check(Revision from) {
  Range range{.prefix = std::string(kInstancePrefix), .limit = 1, .at = from};
  CO_TRY(co_await store_.read(std::move(range)));
  co_return Result<>{};
}

Task<Result<>> WatchStream::pump(Revision from, EventSource& source, std::function<bool()> allowed,
                                 net::ResponseWriter& writer) {
  Scope& scope = co_await current_scope();
  Revision done = from;
  Moment quiet_until = later(scope.loop().now(), kBookmarkPeriod);
  while (true) {
    Result<Changes> changes = co_await with_deadline(
        quiet_until, store_.watch(std::string(source.prefix()), done, kChangesMax));
    if (scope.is_cancelled()) co_return fail(scope.reason(), "the watch was ended");
    std::vector<WatchEvent> events;
    if (changes) {
      const Revision reached = changes->revision;
      Result<std::vector<WatchEvent>> told = co_await source.events_of(std::move(*changes), done);
      if (told) {
        events = std::move(*told);
        done = reached;
      } else {
        events.push_back(farewell(done, problem_of(told.error(), false)));
      }
      // What is of no interest here moves the revision on, and is told with the next bookmark.
      if (events.empty() && scope.loop().now() < quiet_until) continue;
    } else if (changes.outcome() != Outcome::deadline) {
      events.push_back(farewell(done, problem_of(changes.error(), false)));
    }
    if (events.empty()) events.push_back(bookmark(done));
    if (!allowed()) {
      events = {farewell(
          from, api::make_problem(api::problem::unauthenticated, "the token is no longer known"))};
    }
    CO_TRY(co_await write(events, writer));
    events_.add(static_cast<double>(events.size()));
    if (events.back().type == WatchEvent::Type::problem) break;
    quiet_until = later(scope.loop().now(), kBookmarkPeriod);
  }
  CO_TRY(co_await writer.finish());
  co_return said_everything();
}

Task<Result<>> WatchStream::serve(Revision from, EventSource& source, std::function<bool()> allowed,
                                  net::Headers answer, net::ResponseWriter& writer) {
  const Counted opened(open_, watches_);
  answer.set("Content-Type", "application/x-ndjson");
  CO_TRY(co_await writer.begin(200, std::move(answer)));
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(wait_until_closed, std::ref(writer));
  scope.spawn(&WatchStream::pump, this, from, std::ref(source), std::move(allowed),
              std::ref(writer));
  Result<> ended = co_await scope.join();
  if (ended.outcome() == Outcome::absent) co_return Result<>{};
  co_return ended;
}

}  // namespace isthmus::infra
