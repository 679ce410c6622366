#include "isthmus/kube/controller.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "isthmus/base/scope.h"

namespace isthmus::kube {
namespace {

// A tenth of it, or less where the sum would be beyond the end of time.
Duration tenth_of(Duration delay) { return std::min(delay / 10, Duration::max() - delay); }

// What is due at a time is done up to a tenth sooner or later, so that keys which began together,
// at a start or after an outage, spread out.
Duration about(Duration delay, Random& random) {
  return random.between(delay - tenth_of(delay), delay + tenth_of(delay));
}

// What a run asks for, from the most urgent to the least.
enum class Wish : std::uint8_t { back_off, at_a_time, park, nothing };

struct Verdict {
  Wish wish = Wish::nothing;
  Duration delay{};  // Only for at_a_time; never negative.
  Priority priority = Priority::resync;
};

Verdict verdict_of(const Result<Action>& answer, Random& random) {
  switch (answer.outcome()) {
    case Outcome::ok:
      if (!answer->delay()) return {};
      return {Wish::at_a_time, about(*answer->delay(), random)};
    case Outcome::busy: {
      const Duration named = answer.error().retry_after;
      if (named <= Duration::zero()) return {Wish::back_off};
      return {Wish::at_a_time, random.between(named, named + tenth_of(named)), Priority::fresh};
    }
    case Outcome::conflict:
    case Outcome::lost:
    case Outcome::absent:
    case Outcome::deadline:
    case Outcome::cancelled:
      return {Wish::back_off};
    case Outcome::denied:
      return {Wish::at_a_time, about(kDeniedAgainAfter, random)};
    case Outcome::invalid:
    case Outcome::unsupported:
      return {Wish::park};
  }
  ISTHMUS_ASSERT(false, "an outcome that does not exist");
  return {};
}

// The earlier of two wishes for one key. One that backs off is looked at within two minutes, which
// is early enough for whatever the other wants.
Verdict earlier(const Verdict& one, const Verdict& other) {
  if (one.wish != other.wish) return one.wish < other.wish ? one : other;
  return one.delay <= other.delay ? one : other;
}

}  // namespace

Action Action::again_after(Duration delay) {
  ISTHMUS_ASSERT(delay > Duration::zero(), "again after no time at all is a loop");
  return Action(delay);
}

struct Controller::Inside {
  // Gives the key back when the run is over, however it ends.
  struct Held {
    Held(Inside& owner, std::string held)
        : inside(owner), key(std::move(held)), place(owner.running.insert(owner.loop.now())) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      inside.running.erase(place);
      inside.queue.done(key);
    }
    Inside& inside;
    const std::string key;
    const std::multiset<Moment>::iterator place;
  };

  Task<Result<>> work();
  Task<Result<>> run_key(std::string key);
  Counter& runs(const Reconciler& reconciler, Outcome outcome);
  void report(const Reconciler& reconciler, const std::string& key, const Error& error);
  void settle(const std::string& key, const Verdict& verdict);

  const ControllerOptions options;
  const std::vector<std::reference_wrapper<Reconciler>> reconcilers;
  Loop& loop;
  Random& random;
  Metrics& metrics;
  Logger& log;
  WorkQueue queue;
  bool stopping = false;
  std::multiset<Moment> running = {};  // When those under way began.
  std::map<std::pair<const Reconciler*, Outcome>, Counter*> run_counters = {};  // Looked up once.
};

Controller::Controller(ControllerOptions options,
                       std::vector<std::reference_wrapper<Reconciler>> reconcilers, Loop& loop,
                       Random& random, Metrics& metrics, Logger& log)
    : inside_(new Inside{options,
                         std::move(reconcilers),
                         loop,
                         random,
                         metrics,
                         log,
                         {loop, random, metrics, {.name = options.queue}}}) {
  ISTHMUS_ASSERT(options.workers > 0, "a controller without workers does nothing, silently");
}

Controller::~Controller() = default;

void Controller::enqueue(ObjectKey key, Priority priority) {
  inside_->queue.add(to_string(key), priority);
}

void Controller::enqueue_after(ObjectKey key, Duration delay, Priority priority) {
  inside_->queue.add_after(to_string(key), delay, priority);
}

Task<Result<>> Controller::run() {
  Scope& outer = co_await current_scope();
  Scope scope(outer);
  for (std::size_t i = 0; i < inside_->options.workers; ++i) {
    scope.spawn(&Inside::work, inside_.get());
  }
  Result<> ended = co_await scope.join();
  co_return ended;
}

void Controller::stop() {
  inside_->stopping = true;
  inside_->queue.shut_down();
}

Duration Controller::longest_running() const {
  if (inside_->running.empty()) return Duration::zero();
  return inside_->loop.now() - *inside_->running.begin();
}

Task<Result<>> Controller::Inside::work() {
  for (;;) {
    Result<std::string> key = co_await queue.get();
    if (!key && stopping) co_return Result<>{};
    if (!key) co_return std::unexpected(std::move(key.error()));
    CO_TRY(co_await run_key(std::move(*key)));
  }
}

// An error of a reconciler is not an error of the worker; only the end of the scope ends it.
Task<Result<>> Controller::Inside::run_key(std::string key) {
  const Held held(*this, key);
  if (stopping) co_return Result<>{};
  const Result<ObjectKey> object = parse_object_key(key);
  ISTHMUS_ASSERT(object, "a key in the queue that is none");
  Verdict verdict;
  for (Reconciler& reconciler : reconcilers) {
    Result<Action> answer =
        co_await with_timeout(options.run_timeout, reconciler.reconcile(*object));
    runs(reconciler, answer.outcome()).add();
    if (!answer) report(reconciler, key, answer.error());
    verdict = earlier(verdict, verdict_of(answer, random));
  }
  settle(key, verdict);
  Scope& scope = co_await current_scope();
  if (scope.is_cancelled()) co_return fail(scope.reason(), "reconciling: stopped");
  co_return Result<>{};
}

Counter& Controller::Inside::runs(const Reconciler& reconciler, Outcome outcome) {
  Counter*& counter = run_counters[{&reconciler, outcome}];
  if (counter == nullptr) {
    counter = &metrics.counter("isthmus_reconcile_total",
                               "Number of runs of a controller for one object, by outcome.",
                               {{"controller", std::string(reconciler.name())},
                                {"outcome", std::string(to_string(outcome))}});
  }
  return *counter;
}

// A conflict is how other writers are noticed, being cancelled is our own end, and busy is told by
// whoever limits: nobody needs to look at these. The rest is told once, until the key succeeds: an
// outage must not fill the disk with one line per object and try.
void Controller::Inside::report(const Reconciler& reconciler, const std::string& key,
                                const Error& error) {
  const Logger::Fields fields = {{"controller", reconciler.name()},
                                 {"key", key},
                                 {"error", error},
                                 {"failures", queue.failures(key)}};
  const bool is_usual = error.outcome == Outcome::conflict || error.outcome == Outcome::busy ||
                        error.outcome == Outcome::cancelled;
  if (is_usual || queue.failures(key) > 0) {
    log.debug("reconcile failed", fields);
  } else {
    log.warning("reconcile failed", fields);
  }
}

// A parked key keeps its failures: it did not succeed.
void Controller::Inside::settle(const std::string& key, const Verdict& verdict) {
  switch (verdict.wish) {
    case Wish::back_off:
      queue.add_rate_limited(key);
      return;
    case Wish::at_a_time:
      if (verdict.priority == Priority::resync) queue.forget(key);
      queue.add_after(key, verdict.delay, verdict.priority);
      return;
    case Wish::park:
      queue.add_after(key, about(options.park_for, random));
      return;
    case Wish::nothing:
      queue.forget(key);
      return;
  }
}

}  // namespace isthmus::kube
