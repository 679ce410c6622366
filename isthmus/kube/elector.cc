#include "isthmus/kube/elector.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace isthmus::kube {
namespace {

constexpr Duration kReleaseRetry = std::chrono::milliseconds(250);
constexpr Duration kWatchTimeout = std::chrono::minutes(5);
constexpr Duration kLeaseDurationMax =
    std::chrono::seconds(std::numeric_limits<std::int32_t>::max());

// Half the deadline, so that one answer that never comes leaves time for another attempt.
Duration call_max(const ElectorOptions& options) {
  return std::max(options.retry_period, options.renew_deadline / 2);
}

std::int32_t whole_seconds(Duration duration) {
  return static_cast<std::int32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

// Whether a write with this answer may have had its effect all the same.
bool is_unknown(Outcome outcome) {
  return outcome == Outcome::busy || outcome == Outcome::lost || is_our_own(outcome);
}

}  // namespace

void check_times(const ElectorOptions& options, Mistakes& mistakes) {
  const auto positive = [&](std::string_view flag, Duration duration) {
    if (duration <= Duration::zero()) mistakes.add(flag, "must be positive");
  };
  positive("--leader-elect-lease-duration", options.lease_duration);
  positive("--leader-elect-renew-deadline", options.renew_deadline);
  positive("--leader-elect-retry-period", options.retry_period);
  if (options.lease_duration % std::chrono::seconds(1) != Duration::zero()) {
    mistakes.add("--leader-elect-lease-duration", "must be whole seconds, as a Lease is");
  }
  if (options.lease_duration > kLeaseDurationMax) {
    mistakes.add("--leader-elect-lease-duration", "is more seconds than a Lease can hold");
  }
  if (options.lease_duration <= options.renew_deadline) {
    mistakes.add("--leader-elect-lease-duration",
                 "must be longer than --leader-elect-renew-deadline");
  }
  // A renewal must be tried again within the deadline, jitter (up to a fifth) included. Divided,
  // because a period that is endless cannot be multiplied.
  if (options.renew_deadline - options.retry_period <= options.retry_period / 5) {
    mistakes.add("--leader-elect-renew-deadline",
                 "must be longer than 1.2 times --leader-elect-retry-period");
  }
}

Result<> check(const ElectorOptions& options) {
  Mistakes mistakes;
  check_times(options, mistakes);
  if (options.identity.empty()) mistakes.add("identity", "must not be empty");
  if (options.lease.name.empty() || options.lease.name_space.empty()) {
    mistakes.add("--leader-elect-resource-name", "needs a name and a namespace");
  }
  return mistakes.result();
}

Elector::Elector(ApiDoor& api, ElectorOptions options, LeaseLife& life, const Clock& clock,
                 Random& random, Recorder& recorder, Metrics& metrics, Logger& log)
    : api_(api),
      options_(std::move(options)),
      life_(life),
      clock_(clock),
      random_(random),
      recorder_(recorder),
      log_(log),
      master_status_(metrics.gauge("leader_election_master_status",
                                   "Gauge of if the reporting system is master of the relevant "
                                   "lease, 0 indicates backup, 1 indicates master. 'name' is the "
                                   "string used to identify the lease.",
                                   {{"name", options_.lease.name}})),
      slow_path_(metrics.counter("leader_election_slowpath_total",
                                 "Total number of slow path exercised in renewing leader leases.",
                                 {{"name", options_.lease.name}})) {
  ISTHMUS_ASSERT(check(options_), "an elector with unchecked options");
}

Task<Result<>> Elector::run(Leader& leader, Uncancellable release) {
  Result<> acquired = co_await acquire();
  if (!acquired) {
    if (may_hold_) co_await release_by(release, give_up_if_granted());
    co_return acquired;
  }
  is_lost_ = false;
  Scope& outer = co_await current_scope();
  Scope term(outer);
  term.spawn(&Elector::renew_until_lost, this);
  term.spawn(&Elector::lead_and_end, this, std::ref(leader), std::ref(term));
  Result<> ended = co_await term.join();

  // Whatever led has ended, so nothing of ours is under way when others are let in.
  end_term();
  if (is_lost_) co_return fail(Outcome::lost, "leadership lost: " + ended.error().message);
  co_await release_by(release, give_up());
  co_return lead_answer_.value_or(ended);
}

Task<> Elector::release_by(Uncancellable release, Task<Result<>> how) {
  if (!options_.release_on_exit) co_return;
  Task<Result<>> inner = std::move(how);
  Result<> released = co_await release.run(with_timeout(options_.renew_deadline, std::move(inner)));
  if (!released) log_.warning("lease not released", {{"error", released.error()}});
}

Task<Result<>> Elector::acquire() {
  Scope& scope = co_await current_scope();
  for (;;) {
    Result<bool> took = co_await attempt();
    if (took && *took) co_return Result<>{};  // Even when cancelled: then it is released again.
    if (scope.is_cancelled()) co_return fail(scope.reason(), "waiting for the lease: stopped");
    if (took) {
      CO_TRY(co_await wait_for_chance());
    } else {
      tell_failure(took.error());
      is_current_ = false;
      CO_TRY(co_await pause());
    }
  }
}

// Once per kind, since it is tried again every few seconds: a wrong token must be seen in the log,
// and an API server that is away all night must not fill it. Losing a race is no failure.
void Elector::tell_failure(const Error& error) {
  if (error.outcome == Outcome::conflict || error.outcome == told_failure_) {
    log_.debug("lease not acquired", {{"error", error}});
    return;
  }
  told_failure_ = error.outcome;
  log_.warning("lease not acquired", {{"error", error}});
}

Task<Result<>> Elector::pause() {
  CO_TRY(co_await sleep_for(random_pause()));
  co_return Result<>{};
}

// One to 2.2 retry periods (upstream's JitterFactor of 1.2): who failed together must not come back
// together.
Duration Elector::random_pause() {
  const Duration retry = options_.retry_period;
  return random_.between(retry, retry / 5 * 11);
}

// true: we lead. false: somebody else does. An error: the attempt failed.
Task<Result<bool>> Elector::attempt() {
  // What a watch has shown cannot be written back.
  if (!is_current_ || seen_.document.empty()) {
    Result<Lease> live = co_await read();
    is_gone_ = live.outcome() == Outcome::absent;
    if (is_gone_) {
      // Whoever was seen leading may write until then, and notices only at its next renewal.
      if (!is_free()) co_return false;
      Result<> created = co_await create();
      may_hold_ = is_unknown(created.outcome());
      if (!created) co_return std::unexpected(created.error());
      co_return true;
    }
    Lease lease = CO_TRY(std::move(live));
    observe(std::move(lease));
  }
  if (!is_free()) co_return false;
  Result<> taken = co_await take();
  may_hold_ = is_unknown(taken.outcome());
  if (!taken) co_return std::unexpected(taken.error());
  co_return true;
}

Task<Result<>> Elector::create() {
  const Moment sent = clock_.now();
  const std::string now = rfc3339_micro(clock_.wall_now());
  const LeaseSpec spec{options_.identity, whole_seconds(options_.lease_duration), now, now, 0};
  std::string text = CO_TRY(co_await with_timeout(
      options_.renew_deadline, api_.create({name(), lease_body(options_.lease, spec)})));
  Lease lease = CO_TRY(decoder_.object<Lease>(text, options_.lease));
  if (lease.spec.holder != options_.identity) {
    co_return fail(Outcome::lost, "the answer is not the lease that was created");
  }
  begin_term(sent, std::move(lease));
  co_return Result<>{};
}

Task<Result<>> Elector::take() {
  const Moment sent = clock_.now();
  LeaseSpec spec = seen_.spec;
  spec.duration_seconds = whole_seconds(options_.lease_duration);
  spec.renew_time = rfc3339_micro(clock_.wall_now());
  if (spec.holder != options_.identity) {
    spec.holder = options_.identity;
    spec.acquire_time = spec.renew_time;
    ++spec.transitions;
  }
  Lease lease = CO_TRY(co_await write(std::move(spec)));
  begin_term(sent, std::move(lease));
  co_return Result<>{};
}

bool Elector::is_free() const {
  const std::string& holder = seen_.spec.holder;
  return holder.empty() || holder == options_.identity || clock_.now() >= expiry();
}

// By our own clock, and after our own duration at the earliest, which upstream does not ask for: a
// record that somebody edited must not make two leaders.
Moment Elector::expiry() const {
  const Duration said = std::chrono::seconds(seen_.spec.duration_seconds);
  return seen_at_ + std::max(said, options_.lease_duration);
}

void Elector::observe(Lease lease) {
  const bool is_first = seen_.meta.resource_version.empty();
  if (is_first || lease.meta.uid != seen_.meta.uid || lease.spec != seen_.spec) {
    seen_at_ = clock_.now();
  }
  if (lease.spec.holder != seen_.spec.holder) {
    log_.info("leader seen", {{"lease", to_string(options_.lease)}, {"holder", lease.spec.holder}});
  }
  seen_ = std::move(lease);
  is_current_ = true;
  may_hold_ = seen_.spec.holder == options_.identity;
}

// Returns when the lease may be free, or when it must be read again.
Task<Result<>> Elector::wait_for_chance() {
  if (!may_watch_ || is_gone_) {
    CO_TRY(co_await poll());
    co_return Result<>{};
  }
  Result<std::unique_ptr<WatchStream>> stream = co_await with_timeout(
      options_.renew_deadline, api_.watch({.resource = Lease::resource,
                                           .only = options_.lease,
                                           .resource_version = seen_.meta.resource_version,
                                           .timeout = kWatchTimeout}));
  if (stream) {
    CO_TRY(co_await follow(std::move(*stream)));
    co_return Result<>{};
  }
  if (stream.outcome() == Outcome::denied || stream.outcome() == Outcome::unsupported) {
    may_watch_ = false;
    log_.info("the lease may not be watched; polling it", {{"error", stream.error()}});
  }
  CO_TRY(co_await poll());
  co_return Result<>{};
}

Task<Result<>> Elector::poll() {
  const Moment next = clock_.now() + random_pause();
  CO_TRY(co_await sleep_until(std::min(next, expiry())));
  is_current_ = false;
  co_return Result<>{};
}

// An error is our own end. A watch that ends in any way only means that the lease is read again: at
// once, lest a release in between is noticed late, but at the pace of polling where it had just
// begun, lest we spin.
Task<Result<>> Elector::follow(std::unique_ptr<WatchStream> stream) {
  Scope& scope = co_await current_scope();
  const Moment began = clock_.now();
  while (!is_free()) {
    Result<bool> news = co_await with_deadline(expiry(), next_news(*stream));
    if (scope.is_cancelled()) co_return fail(scope.reason(), "watching the lease: stopped");
    if (news.outcome() == Outcome::deadline) continue;  // Silence until the expiry: it is free now.
    if (news && *news) continue;
    is_current_ = false;
    const bool is_short = clock_.now() - began < options_.retry_period;
    if (!news && is_short) CO_TRY(co_await poll());
    co_return Result<>{};
  }
  co_return Result<>{};
}

// true: the record as it is now was seen. false: it is gone.
Task<Result<bool>> Elector::next_news(WatchStream& stream) {
  std::string line = CO_TRY(co_await stream.next());
  if (line.empty()) co_return fail(Outcome::lost, "the watch of the lease ended");
  WatchEvent<Lease> event = CO_TRY(decoder_.watch_line<Lease>(line));
  if (std::holds_alternative<Bookmark>(event)) co_return true;
  auto* change = std::get_if<Change<Lease>>(&event);
  if (change == nullptr) co_return fail(Outcome::lost, "the watch of the lease was refused");
  if (change->item.key != options_.lease) co_return fail(Outcome::lost, "news of another lease");
  if (change->kind == ChangeKind::deleted) co_return false;
  Lease lease = CO_TRY(std::move(change->item.object));
  observe(std::move(lease));
  co_return true;
}

Task<Result<>> Elector::lead_and_end(Leader& leader, Scope& term) {
  Result<> answer = co_await leader.lead();
  lead_answer_ = std::move(answer);
  term.cancel();
  co_return Result<>{};
}

// Counts from the sending: the server may have stored the renewal at once and answered late.
void Elector::begin_term(Moment sent, Lease lease) {
  told_failure_.reset();
  life_.set_until(sent + options_.renew_deadline);
  seen_ = std::move(lease);
  master_status_.set(1);
  log_.info("became leader",
            {{"lease", to_string(options_.lease)}, {"identity", options_.identity}});
  recorder_.normal(reference_to(seen_), "LeaderElection", options_.identity + " became leader");
}

void Elector::end_term() {
  life_.end();
  master_status_.set(0);
  log_.info("stopped leading",
            {{"lease", to_string(options_.lease)}, {"identity", options_.identity}});
  recorder_.normal(reference_to(seen_), "LeaderElection", options_.identity + " stopped leading");
}

// An error of this ends the term, and with it everything in it.
Task<Result<>> Elector::renew_until_lost() {
  Scope& term = co_await current_scope();
  std::optional<Error> trouble;  // With the last renewal.
  for (;;) {
    const Moment next = std::min(clock_.now() + options_.retry_period, life_.until());
    CO_TRY(co_await sleep_until(next));
    if (!life_.holds()) {  // Others may lead already.
      is_lost_ = true;
      if (trouble) co_return fail(Outcome::lost, "not renewed in time: " + trouble->message);
      co_return fail(Outcome::lost, "woke up after the deadline");  // We were frozen.
    }
    Result<bool> renewed = co_await with_deadline(life_.until(), renew());
    if (term.is_cancelled()) co_return fail(term.reason(), "renewing: stopped");
    if (renewed && *renewed) {
      trouble.reset();
      continue;
    }
    if (renewed) {
      is_lost_ = true;
      co_return fail(Outcome::lost, "the lease is no longer ours");
    }
    log_.warning("lease not renewed", {{"error", renewed.error()}});
    trouble = renewed.error();
    if (life_.holds()) continue;
    is_lost_ = true;
    co_return fail(Outcome::lost, "not renewed in time: " + renewed.error().message);
  }
}

// true: renewed. false: the lease is not ours any more. An error: not known, try again.
Task<Result<bool>> Elector::renew() {
  for (int tries = 0; tries < 2; ++tries) {
    const Moment sent = clock_.now();
    LeaseSpec spec = seen_.spec;
    spec.duration_seconds = whole_seconds(options_.lease_duration);
    spec.renew_time = rfc3339_micro(clock_.wall_now());
    Result<Lease> written = co_await write(std::move(spec));
    if (written) {
      seen_ = std::move(*written);
      life_.set_until(sent + options_.renew_deadline);
      co_return true;
    }
    if (written.outcome() == Outcome::absent) co_return false;
    if (written.outcome() != Outcome::conflict) co_return std::unexpected(written.error());
    // Somebody wrote: a label, another holder, or ourselves with a renewal whose answer was lost.
    slow_path_.add();
    Result<Lease> live = co_await read();
    if (live.outcome() == Outcome::absent) co_return false;
    if (!live) co_return std::unexpected(live.error());
    if (!is_ours(*live)) co_return false;
    seen_ = std::move(*live);
  }
  co_return fail(Outcome::conflict, "others keep writing the lease");
}

// The same term of the same lease: a holder that came back, or was written by hand, is not us.
bool Elector::is_ours(const Lease& live) const {
  return live.meta.uid == seen_.meta.uid && live.spec.holder == options_.identity &&
         live.spec.transitions == seen_.spec.transitions &&
         live.spec.acquire_time == seen_.spec.acquire_time;
}

// An attempt to take the lease was cut off: it may have been granted without our knowing.
Task<Result<>> Elector::give_up_if_granted() {
  Lease live = CO_TRY(co_await read());
  if (live.spec.holder != options_.identity) co_return Result<>{};
  seen_ = std::move(live);
  CO_TRY(co_await give_up());
  co_return Result<>{};
}

// Bounded by the caller's deadline.
Task<Result<>> Elector::give_up() {
  for (;;) {
    LeaseSpec spec = seen_.spec;
    spec.holder.clear();
    spec.duration_seconds = 1;
    spec.renew_time = spec.acquire_time = rfc3339_micro(clock_.wall_now());
    Result<Lease> written = co_await write(std::move(spec));
    if (written || written.outcome() == Outcome::absent) co_return Result<>{};
    if (written.outcome() != Outcome::conflict) CO_TRY(co_await sleep_for(kReleaseRetry));
    Result<Lease> live = co_await read();
    if (live.outcome() == Outcome::absent || (live && !is_ours(*live))) co_return Result<>{};
    if (live) seen_ = std::move(*live);
    if (!live) CO_TRY(co_await sleep_for(kReleaseRetry));
  }
}

Task<Result<Lease>> Elector::read() {
  std::string text = CO_TRY(co_await with_timeout(call_max(options_), api_.get(name())));
  co_return decoder_.object<Lease>(text, options_.lease);
}

Task<Result<Lease>> Elector::write(LeaseSpec spec) {
  Patch update = CO_TRY(lease_update(seen_, spec));
  std::string text = CO_TRY(co_await with_timeout(
      call_max(options_), api_.patch({.object = name(), .patch = std::move(update)})));
  Lease lease = CO_TRY(decoder_.object<Lease>(text, options_.lease));
  if (lease.spec.holder != spec.holder) {
    co_return fail(Outcome::lost, "the answer is not the lease that was written");
  }
  co_return lease;
}

}  // namespace isthmus::kube
