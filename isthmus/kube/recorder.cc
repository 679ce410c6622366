#include "isthmus/kube/recorder.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "isthmus/base/channel.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/signal.h"
#include "isthmus/kube/correlator.h"

namespace isthmus::kube {
namespace {

constexpr std::size_t kFates = 6;

// Whether trying again may help. Everything else is the server's considered answer; it also covers
// a namespace that is being deleted (denied) and an event that is there already (conflict).
bool is_worth_another_try(Outcome outcome) {
  return outcome == Outcome::lost || outcome == Outcome::busy || outcome == Outcome::deadline;
}

}  // namespace

std::string_view to_string(NoteFate fate) {
  constexpr std::array<std::string_view, kFates> kNames = {"posted",  "queue_full", "spam",
                                                           "refused", "lost",       "stopped"};
  return kNames.at(static_cast<std::size_t>(fate));
}

struct Broadcaster::Inside {
  // An event that is not on the server as it should be. At most one request for it is under way, so
  // that a later count never arrives before an earlier one; what comes meanwhile is sent
  // afterwards.
  struct Post {
    Event event;
    bool has_news = true;  // Since the last request for it was built.
  };

  Inside(ApiDoor& api_, Loop& loop_, Random& random_, Metrics& metrics, Logger& log_,
         BroadcasterLimits limits_)
      : api(api_), loop(loop_), random(random_), log(log_), limits(limits_) {
    for (std::size_t i = 0; i < kFates; ++i) {
      counters[i] = &metrics.counter("isthmus_events_total",
                                     "Number of events for people, by what became of them.",
                                     {{"fate", std::string(to_string(static_cast<NoteFate>(i)))}});
    }
    idle.set();
  }

  void note(NoteFate fate, double amount = 1) {
    counters[static_cast<std::size_t>(fate)]->add(amount);
  }
  void record(const std::string& component, Note told);
  Task<Result<>> post_all();
  Task<Result<>> post(ObjectKey key);
  Task<Result<>> send(Event event);
  Task<Result<>> send_until_settled(ObjectKey key);

  ApiDoor& api;
  Loop& loop;
  Random& random;
  Logger& log;
  const BroadcasterLimits limits;
  std::array<Counter*, kFates> counters{};
  Correlator correlator{random};
  std::map<ObjectKey, Post> posts;
  Channel<ObjectKey> line{limits.notes_max};
  Signal idle;
};

namespace {

class ComponentRecorder final : public Recorder {
 public:
  using Record = std::function<void(const std::string&, Note)>;
  ComponentRecorder(std::string component, Record record)
      : component_(std::move(component)), record_(std::move(record)) {}
  void record(Note note) override { record_(component_, std::move(note)); }

 private:
  const std::string component_;
  const Record record_;
};

}  // namespace

Broadcaster::Broadcaster(ApiDoor& api, Loop& loop, Random& random, Metrics& metrics, Logger& log,
                         BroadcasterLimits limits)
    : inside_(std::make_unique<Inside>(api, loop, random, metrics, log, limits)) {}

Broadcaster::~Broadcaster() = default;

std::unique_ptr<Recorder> Broadcaster::recorder(std::string component) {
  return std::make_unique<ComponentRecorder>(
      std::move(component), [inside = inside_.get()](const std::string& who, Note note) {
        inside->record(who, std::move(note));
      });
}

// Correlated at once rather than when it is posted: a note that only counts an event up which is
// waiting anyway takes no further place in the queue.
void Broadcaster::Inside::record(const std::string& component, Note told) {
  std::optional<Event> event = correlator.correlate(component, told, loop.now(), loop.wall_now());
  if (!event) return note(NoteFate::spam);
  const ObjectKey key = event->meta.key;
  const auto waiting = posts.find(key);
  if (waiting != posts.end()) {
    waiting->second = {std::move(*event)};
    return;
  }
  if (posts.size() >= limits.notes_max || !line.try_send(key)) return note(NoteFate::queue_full);
  posts.emplace(key, Post{std::move(*event)});
  idle.clear();
}

Task<Result<>> Broadcaster::run() {
  Scope& outer = co_await current_scope();
  Scope scope(outer);
  for (std::size_t i = 0; i < inside_->limits.posts_at_once; ++i) {
    scope.spawn(&Inside::post_all, inside_.get());
  }
  Result<> ended = co_await scope.join();
  inside_->note(NoteFate::stopped, static_cast<double>(inside_->posts.size()));
  co_return ended;
}

Task<Result<>> Broadcaster::flush() {
  CO_TRY(co_await inside_->idle.wait());
  co_return Result<>{};
}

std::uint64_t Broadcaster::count(NoteFate fate) const {
  return static_cast<std::uint64_t>(inside_->counters[static_cast<std::size_t>(fate)]->value());
}

Task<Result<>> Broadcaster::Inside::post_all() {
  for (;;) {
    std::optional<ObjectKey> key = CO_TRY(co_await line.receive());
    ISTHMUS_ASSERT(key, "nobody closes the line");
    CO_TRY(co_await send_until_settled(*key));
  }
}

// Posts one event until the server has its newest form or it is given up.
Task<Result<>> Broadcaster::Inside::send_until_settled(ObjectKey key) {
  while (posts.at(key).has_news) CO_TRY(co_await post(key));
  posts.erase(key);
  if (posts.empty()) idle.set();
  co_return Result<>{};
}

// An error of this is our own end; whatever the server says is counted here.
Task<Result<>> Broadcaster::Inside::post(ObjectKey key) {
  Scope& scope = co_await current_scope();
  for (int tries = 1;; ++tries) {
    posts.at(key).has_news = false;
    const Event event = posts.at(key).event;
    Result<> sent = co_await send(event);
    if (scope.is_cancelled()) co_return fail(scope.reason(), "posting events: stopped");
    if (sent) {
      note(NoteFate::posted);
      co_return Result<>{};
    }
    const bool is_over = !is_worth_another_try(sent.outcome());
    if (is_over || tries == limits.tries_max) {
      note(is_over ? NoteFate::refused : NoteFate::lost);
      log.debug("event dropped", {{"event", to_string(key)}, {"error", sent.error()}});
      co_return Result<>{};
    }
    // All who lost their answers together must not come back together.
    const Duration pause =
        tries == 1 ? random.between(Duration::zero(), limits.pause) : limits.pause;
    CO_TRY(co_await sleep_for(std::max(pause, sent.error().retry_after)));
  }
}

// Events expire on the server, so one that is counted up may be gone; then it is told anew.
Task<Result<>> Broadcaster::Inside::send(Event event) {
  const ObjectName name{Event::resource, event.meta.key};
  if (event.count > 1) {
    Result<std::string> patched = co_await api.patch({name, {}, event_patch(event)});
    if (patched) co_return Result<>{};
    if (patched.outcome() != Outcome::absent) co_return std::unexpected(patched.error());
  }
  Result<std::string> created = co_await api.create({name, event_body(event)});
  if (!created) co_return std::unexpected(created.error());
  co_return Result<>{};
}

}  // namespace isthmus::kube
