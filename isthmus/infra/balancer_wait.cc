#include "isthmus/infra/balancer_wait.h"

#include <algorithm>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/infra/counted.h"
#include "isthmus/infra/object_views.h"

namespace isthmus::infra {
namespace {

using api::ConditionStatus;

bool stands(const std::vector<api::Condition>& conditions, std::string_view type,
            ConditionStatus status, std::uint64_t generation) {
  const api::Condition* condition = find(conditions, type);
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

}  // namespace

bool is_over(const LedgerSnapshot& snapshot, const BalancerRecord& record, const WaitRequest& wait,
             std::uint64_t generation) {
  if (record.metadata.deletion_requested_at) return true;
  const StatusRecord* found =
      snapshot.status(ObjectName{record.metadata.owner, record.metadata.name});
  const std::vector<api::Condition> first =
      found == nullptr ? conditions_at_first(record, WallTime{}) : std::vector<api::Condition>{};
  const std::vector<api::Condition>& conditions =
      found == nullptr ? first : found->status.conditions;
  return stands(conditions, wait.condition, ConditionStatus::is_true, generation) ||
         stands(conditions, api::condition::accepted, ConditionStatus::is_false, generation) ||
         stands(conditions, api::condition::address_allocated, ConditionStatus::is_false,
                generation);
}

BalancerWait::BalancerWait(Store& store, Ledger& ledger, Metrics& metrics)
    : store_(store),
      ledger_(ledger),
      waits_(metrics.gauge("infra_waits", "Requests that wait for a load balancer's condition.")) {}

Task<Result<>> BalancerWait::wait_for_commit(Revision after) {
  while (reached_ <= after) {
    if (is_watched_) {
      CO_TRY(co_await moved_.wait());
      continue;
    }
    is_watched_ = true;
    // Any commit ends this; the prefix is that of one small record, so that little is read.
    Result<Changes> changes = co_await store_.watch(std::string(kLedgerLock), after, 1);
    is_watched_ = false;
    if (changes) reached_ = std::max(reached_, changes->revision);
    // The history is shorter than we are behind: there are newer commits.
    if (changes.outcome() == kRevisionGone) reached_ = std::max(reached_, after + 1);
    // Also where this one gives up, so that another of them watches.
    moved_.set();
    moved_.clear();
    if (!changes && changes.outcome() != kRevisionGone) {
      co_return std::unexpected(std::move(changes).error());
    }
  }
  co_return Result<>{};
}

Task<Result<>> BalancerWait::look_until_over(ObjectName name, WaitRequest wait) {
  while (true) {
    Revision looked_at = 0;
    {
      // Not kept while we wait: each change of the ledger would copy what a snapshot holds.
      Ledger::Snapshot now = CO_TRY(co_await ledger_.latest());
      const BalancerRecord* record = now->balancer(name);
      if (record == nullptr) co_return nothing_to_wait_for();
      if (!wait.generation) wait.generation = record->metadata.generation;
      if (is_over(*now, *record, wait, *wait.generation)) co_return nothing_to_wait_for();
      looked_at = now->revision;
    }
    CO_TRY(co_await wait_for_commit(looked_at));
  }
}

Task<Result<bool>> BalancerWait::wait(ObjectName name, WaitRequest wait,
                                      net::ResponseWriter& writer) {
  const Counted counted(waiting_, waits_);
  bool left = false;
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.set_deadline(later(here.loop().now(), wait.timeout));
  scope.spawn(notice_leaving, std::ref(writer), std::ref(left));
  scope.spawn(&BalancerWait::look_until_over, this, std::move(name), std::move(wait));
  Result<> ended = co_await scope.join();
  if (left) co_return false;
  const bool in_time = ended.outcome() == Outcome::absent;
  const bool too_late = ended.outcome() == Outcome::deadline && !here.is_cancelled();
  if (in_time || too_late) co_return true;
  co_return std::unexpected(std::move(ended).error());
}

}  // namespace isthmus::infra
