#include "isthmus/infra/balancer_wait.h"

#include <algorithm>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/infra/object_views.h"

namespace isthmus::infra {
namespace {

using api::ConditionStatus;

bool stands(const api::LoadBalancer& balancer, std::string_view type, ConditionStatus status,
            std::uint64_t generation) {
  const api::Condition* condition = find(balancer.status.conditions, type);
  return condition != nullptr && condition->status == status &&
         condition->observed_generation >= generation;
}

Task<Result<>> notice_leaving(net::ResponseWriter& writer, bool& left) {
  Result<> closed = co_await writer.closed();
  left = closed.outcome() == Outcome::lost;
  co_return closed;
}

// The looker's way to end its sibling, who waits for the client to leave.
std::unexpected<Error> nothing_to_wait_for() {
  return fail(Outcome::absent, "there is nothing to wait for any more");
}

class Counted {
 public:
  Counted(std::size_t& count, Gauge& gauge) : count_(count), gauge_(gauge) { show(+1); }
  ~Counted() { show(-1); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  void show(int change) {
    count_ += static_cast<std::size_t>(change);
    gauge_.set(static_cast<double>(count_));
  }

  std::size_t& count_;
  Gauge& gauge_;
};

}  // namespace

bool is_over(const api::LoadBalancer& balancer, const WaitRequest& wait, std::uint64_t generation) {
  return balancer.metadata.deletion_requested_at ||
         stands(balancer, wait.condition, ConditionStatus::is_true, generation) ||
         stands(balancer, api::condition::accepted, ConditionStatus::is_false, generation) ||
         stands(balancer, api::condition::address_allocated, ConditionStatus::is_false, generation);
}

BalancerWait::BalancerWait(Store& store, Ledger& ledger, const Clock& clock, Metrics& metrics)
    : store_(store),
      ledger_(ledger),
      clock_(clock),
      waits_(metrics.gauge("infra_waits", "Requests that wait for a load balancer's condition.")) {}

Task<Result<>> BalancerWait::look_until_over(ObjectName name, WaitRequest wait,
                                             std::uint64_t generation, Ledger::Snapshot& seen) {
  Revision looked_at = 0;
  while (true) {
    Ledger::Snapshot now = CO_TRY(co_await ledger_.latest());
    seen = std::move(now);
    const BalancerRecord* record = seen->balancer(name);
    if (record == nullptr) co_return nothing_to_wait_for();
    if (is_over(shown(*seen, *record, clock_.wall_now()), wait, generation)) {
      co_return nothing_to_wait_for();
    }
    looked_at = std::max(looked_at, seen->revision);
    // Any commit ends this; the prefix is that of one small record, so that little is read.
    Result<Changes> changes = co_await store_.watch(std::string(kLedgerLock), looked_at, 1);
    if (changes) looked_at = changes->revision;
    if (!changes && changes.outcome() != kRevisionGone) {
      co_return std::unexpected(std::move(changes).error());
    }
  }
}

Task<Result<Ledger::Snapshot>> BalancerWait::wait(ObjectName name, WaitRequest wait,
                                                  std::uint64_t generation,
                                                  net::ResponseWriter& writer) {
  const Counted counted(waiting_, waits_);
  Ledger::Snapshot seen;
  bool left = false;
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.set_deadline(later(here.loop().now(), wait.timeout));
  scope.spawn(notice_leaving, std::ref(writer), std::ref(left));
  scope.spawn(&BalancerWait::look_until_over, this, std::move(name), std::move(wait), generation,
              std::ref(seen));
  Result<> ended = co_await scope.join();
  if (left) co_return nullptr;
  const bool in_time = ended.outcome() == Outcome::absent;
  const bool too_late = ended.outcome() == Outcome::deadline && !here.is_cancelled();
  if (seen != nullptr && (in_time || too_late)) co_return seen;
  co_return std::unexpected(std::move(ended).error());
}

}  // namespace isthmus::infra
