#include "isthmus/kube/elector.h"

#include <algorithm>
#include <utility>

#include "isthmus/base/mistakes.h"

namespace isthmus::kube {
namespace {

constexpr Duration kReleaseRetry = std::chrono::milliseconds(250);

// Half the deadline, so that one answer that never comes leaves time for another attempt.
Duration call_max(const ElectorOptions& options) {
  return std::max(options.retry_period, options.renew_deadline / 2);
}

}  // namespace

Result<> check(const ElectorOptions& options) {
  Mistakes mistakes;
  const auto positive = [&](std::string_view flag, Duration duration) {
    if (duration <= Duration::zero()) mistakes.add(flag, "must be positive");
  };
  positive("--leader-elect-lease-duration", options.lease_duration);
  positive("--leader-elect-renew-deadline", options.renew_deadline);
  positive("--leader-elect-retry-period", options.retry_period);
  if (options.lease_duration % std::chrono::seconds(1) != Duration::zero()) {
    mistakes.add("--leader-elect-lease-duration", "must be whole seconds, as a Lease is");
  }
  if (options.lease_duration <= options.renew_deadline) {
    mistakes.add("--leader-elect-lease-duration",
                 "must be longer than --leader-elect-renew-deadline");
  }
  if (options.renew_deadline <= options.retry_period * 6 / 5) {
    mistakes.add("--leader-elect-renew-deadline",
                 "must be longer than 1.2 times --leader-elect-retry-period");
  }
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
  CO_TRY(co_await acquire());
  is_lost_ = false;
  Scope& outer = co_await current_scope();
  Scope term(outer);
  term.spawn(&Elector::renew_until_lost, this);
  term.spawn(&Elector::lead_and_end, this, std::ref(leader), std::ref(term));
  Result<> ended = co_await term.join();

  // Whatever led has ended, so nothing of ours is under way when others are let in.
  end_term();
  if (is_lost_) co_return fail(Outcome::lost, "leadership lost: " + ended.error().message);
  if (options_.release_on_exit) {
    Result<> released = co_await release.run(with_timeout(options_.renew_deadline, give_up()));
    if (!released) log_.warning("lease not released", {{"error", released.error()}});
  }
  co_return lead_answer_.value_or(ended);
}

Task<Result<>> Elector::lead_and_end(Leader& leader, Scope& term) {
  Result<> answer = co_await leader.lead();
  lead_answer_ = std::move(answer);
  term.cancel();
  co_return Result<>{};
}

// Counts from the sending: the server may have stored the renewal at once and answered late.
void Elector::begin_term(Moment sent, Lease lease) {
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
  for (;;) {
    const Moment next = std::min(clock_.now() + options_.retry_period, life_.until());
    CO_TRY(co_await sleep_until(next));
    if (!life_.holds()) {  // We were frozen: others may lead already.
      is_lost_ = true;
      co_return fail(Outcome::lost, "woke up after the deadline");
    }
    Result<bool> renewed = co_await with_deadline(life_.until(), renew());
    if (term.is_cancelled()) co_return fail(term.reason(), "renewing: stopped");
    if (renewed && *renewed) continue;
    if (renewed) {
      is_lost_ = true;
      co_return fail(Outcome::lost, "the lease is no longer ours");
    }
    log_.warning("lease not renewed", {{"error", renewed.error()}});
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
  co_return understood(std::move(text));
}

Task<Result<Lease>> Elector::write(LeaseSpec spec) {
  PatchRequest request{name(), {}, lease_patch(unchanged(seen_.meta), spec)};
  std::string text =
      CO_TRY(co_await with_timeout(call_max(options_), api_.patch(std::move(request))));
  Lease lease = CO_TRY(understood(std::move(text)));
  if (lease.spec.holder != spec.holder) {
    co_return fail(Outcome::lost, "the answer is not the lease that was written");
  }
  co_return lease;
}

// An answer about another lease than asked for says nothing about ours.
Result<Lease> Elector::understood(std::string text) {
  Lease lease = TRY(decoder_.object<Lease>(text));
  if (lease.meta.key != options_.lease) return fail(Outcome::lost, "an answer about another lease");
  return lease;
}

}  // namespace isthmus::kube
