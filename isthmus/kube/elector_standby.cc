// The standby's half of the elector: waiting for a chance, and taking it.
#include <algorithm>
#include <utility>

#include "isthmus/kube/elector.h"

namespace isthmus::kube {
namespace {

constexpr Duration kWatchTimeout = std::chrono::minutes(5);

}  // namespace

Task<Result<>> Elector::acquire() {
  Scope& scope = co_await current_scope();
  for (;;) {
    Result<bool> took = co_await attempt();
    if (scope.is_cancelled()) co_return fail(scope.reason(), "waiting for the lease: stopped");
    if (took && *took) co_return Result<>{};
    if (took) {
      CO_TRY(co_await wait_for_chance());
    } else {
      log_.debug("lease not acquired", {{"error", took.error()}});
      is_current_ = false;
      CO_TRY(co_await pause());
    }
  }
}

// The only place where chance comes in: those who failed together must not come back together.
Task<Result<>> Elector::pause() {
  const Duration retry = options_.retry_period;
  CO_TRY(co_await sleep_for(random_.between(retry, retry * 11 / 5)));
  co_return Result<>{};
}

// true: we lead. false: somebody else does. An error: the attempt failed.
Task<Result<bool>> Elector::attempt() {
  if (!is_current_) {
    Result<Lease> live = co_await read();
    if (live.outcome() == Outcome::absent) {
      CO_TRY(co_await create());
      co_return true;
    }
    Lease lease = CO_TRY(std::move(live));
    observe(std::move(lease));
  }
  if (!is_free()) co_return false;
  CO_TRY(co_await take());
  co_return true;
}

Task<Result<>> Elector::create() {
  const Moment sent = clock_.now();
  const std::string now = rfc3339_micro(clock_.wall_now());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.lease_duration);
  const LeaseSpec spec{options_.identity, static_cast<std::int32_t>(seconds.count()), now, now, 0};
  std::string text = CO_TRY(co_await with_timeout(
      options_.renew_deadline, api_.create({name(), lease_body(options_.lease, spec)})));
  Lease lease = CO_TRY(understood(std::move(text)));
  if (lease.spec.holder != options_.identity) {
    co_return fail(Outcome::lost, "the answer is not the lease that was created");
  }
  begin_term(sent, std::move(lease));
  co_return Result<>{};
}

Task<Result<>> Elector::take() {
  const Moment sent = clock_.now();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.lease_duration);
  LeaseSpec spec = seen_.spec;
  spec.duration_seconds = static_cast<std::int32_t>(seconds.count());
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

// By our own clock and the record's own duration. A record without one was written by hand.
Moment Elector::expiry() const {
  if (seen_.spec.duration_seconds <= 0) return seen_at_ + options_.lease_duration;
  return seen_at_ + std::chrono::seconds(seen_.spec.duration_seconds);
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
}

// Returns when the lease may be free, or when it must be read again.
Task<Result<>> Elector::wait_for_chance() {
  if (!may_watch_) {
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
  const Duration retry = options_.retry_period;
  const Moment next = clock_.now() + random_.between(retry, retry * 11 / 5);
  CO_TRY(co_await sleep_until(std::min(next, expiry())));
  is_current_ = false;
  co_return Result<>{};
}

// An error is our own end. A watch that fails in any way only means that the lease is read again,
// at the pace of polling, or one that ends at once would make us spin.
Task<Result<>> Elector::follow(std::unique_ptr<WatchStream> stream) {
  Scope& scope = co_await current_scope();
  while (!is_free()) {
    Result<bool> news = co_await with_deadline(expiry(), next_news(*stream));
    if (scope.is_cancelled()) co_return fail(scope.reason(), "watching the lease: stopped");
    if (news.outcome() == Outcome::deadline) continue;  // Silence until the expiry: it is free now.
    if (news && *news) continue;
    is_current_ = false;
    if (!news) CO_TRY(co_await poll());
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
  if (change->kind == ChangeKind::deleted) co_return false;
  Lease lease = CO_TRY(std::move(change->item.object));
  observe(std::move(lease));
  co_return true;
}

}  // namespace isthmus::kube
