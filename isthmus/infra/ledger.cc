#include "isthmus/infra/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "isthmus/base/json.h"
#include "isthmus/base/text.h"
#include "isthmus/infra/balancer_codec.h"
#include "isthmus/infra/ledger_upkeep.h"
#include "isthmus/infra/route_table_codec.h"

namespace isthmus::infra {
namespace {

constexpr Duration kRetryAfter = std::chrono::seconds(1);

std::unexpected<Error> too_busy() {
  return fail(Outcome::busy, "the load balancers are changed all the time", kRetryAfter);
}

// What the deletion adds to a record: two times, and a generation with more digits. A PUT leaves
// room for it, so that whatever was put can be deleted.
constexpr std::size_t kLeavingBytes = 256;

const api::Metadata& metadata_of(const BalancerPlan& plan) { return plan.record.metadata; }
const api::Metadata& metadata_of(const TargetSetPlan& plan) { return plan.record.set.metadata; }
const api::Metadata& metadata_of(const RouteTablePlan& plan) { return plan.record.metadata; }

template <class Plan>
ObjectName name_of(const Plan& plan) {
  return {metadata_of(plan).owner, metadata_of(plan).name};
}

std::vector<Write> writes_of(const BalancerPlan& plan) {
  std::vector<Write> writes{{key_of(kBalancerPrefix, name_of(plan)), encode(plan.record)}};
  for (const AddressRecord& record : plan.addresses) {
    writes.push_back({address_key(record.address), encode(record)});
  }
  return writes;
}

std::vector<Write> writes_of(const TargetSetPlan& plan) {
  return {{key_of(kTargetSetPrefix, name_of(plan)), encode(plan.record)}};
}

std::vector<Write> writes_of(const RouteTablePlan& plan) {
  return {{key_of(kRouteTablePrefix, name_of(plan)), encode(plan.record)}};
}

void set_revision(BalancerPlan& plan, Revision revision) {
  plan.record.metadata.revision = revision;
  for (AddressRecord& record : plan.addresses) record.revision = revision;
}

void set_revision(TargetSetPlan& plan, Revision revision) {
  plan.record.set.metadata.revision = revision;
}

void set_revision(RouteTablePlan& plan, Revision revision) {
  plan.record.metadata.revision = revision;
}

const BalancerRecord* standing(const LedgerSnapshot& snapshot, const BalancerPlan& plan) {
  return snapshot.balancer(name_of(plan));
}

const TargetSetRecord* standing(const LedgerSnapshot& snapshot, const TargetSetPlan& plan) {
  return snapshot.target_set(name_of(plan));
}

const RouteTableRecord* standing(const LedgerSnapshot& snapshot, const RouteTablePlan& plan) {
  return snapshot.route_table(name_of(plan));
}

std::optional<api::Problem> size_failure(const std::vector<Write>& writes, std::size_t bytes_max) {
  for (const Write& write : writes) {
    if (!write.value || write.value->size() <= bytes_max) continue;
    api::Problem problem = api::make_problem(api::problem::invalid_spec,
                                             "all of it together is more than can be kept");
    problem.errors = {{"/spec", fmt::format("it takes {} KiB in the store, and {} KiB is the most; "
                                            "say fewer targets or routes",
                                            write.value->size() / 1024, bytes_max / 1024)}};
    return problem;
  }
  return std::nullopt;
}

// Of a reason for people, in a status: a screen full.
constexpr std::size_t kMessageBytesMax = 2048;

// Messages quote what others said, which may be long and no UTF-8; the store takes neither.
std::string presentable(const std::string& message) {
  // A text in quotes that quoted() made is JSON.
  json::value value = parse_json(quoted(shortened(message, kMessageBytesMax))).value();
  return std::string(value.get_string());
}

// The status as it is kept: health of single targets is not.
api::LoadBalancerStatus kept(api::LoadBalancerStatus status) {
  status.target_health.clear();
  for (api::Condition& condition : status.conditions) {
    condition.message = presentable(condition.message);
  }
  status.last_repair_reason = presentable(status.last_repair_reason);
  return status;
}

api::RouteTableStatus kept(api::RouteTableStatus status) {
  status = without_applied(std::move(status));
  for (api::Condition& condition : status.conditions) {
    condition.message = presentable(condition.message);
  }
  for (api::RouteStatus& route : status.routes) route.message = presentable(route.message);
  return status;
}

// Takes at most so many from the front.
template <class Element>
std::vector<Element> take_front(std::span<Element>& all, std::size_t count_max) {
  std::span<Element> some = all.first(std::min(all.size(), count_max));
  all = all.subspan(some.size());
  return {std::make_move_iterator(some.begin()), std::make_move_iterator(some.end())};
}

}  // namespace

Ledger::Ledger(Store& store, const Clock& clock, Random& random, std::string host)
    : clock_(clock),
      random_(random),
      host_(std::move(host)),
      memory_(store),
      writer_(store, clock, kLedgerLock),
      kernel_was_seen_(host_.empty()) {}

Task<Result<Ledger::Snapshot>> Ledger::latest() { return memory_.latest(); }

Task<Result<Ledger::Snapshot>> Ledger::at(std::optional<Revision> revision) {
  return memory_.at(revision);
}

Circumstances Ledger::circumstances(const Pools* pools_allowed) const {
  return {.now = clock_.wall_now(),
          .host = host_,
          .orphans = orphans_,
          .pools_allowed = pools_allowed,
          .unusable = &unusable_,
          .forwards = forwards_,
          .machines = machines_ ? machines_() : nullptr};
}

std::uint64_t Ledger::kernel_generation(const ObjectName& name) const {
  auto found = kernel_generations_.find(name);
  return found == kernel_generations_.end() ? 0 : found->second;
}

Result<> Ledger::check_kernel_was_seen() const {
  if (kernel_was_seen_) return {};
  return fail(Outcome::busy, "what the kernel holds was not looked at yet", kRetryAfter);
}

template <class Plan>
Task<Result<Plan>> Ledger::decide(std::function<Plan(const LedgerSnapshot&)> planner,
                                  bool dry_run) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Snapshot snapshot = CO_TRY(co_await latest());
    Plan plan = planner(*snapshot);
    if (plan.problem || !plan.write) co_return plan;
    std::vector<Write> writes = writes_of(plan);
    const bool goes = metadata_of(plan).deletion_requested_at.has_value();
    plan.problem = size_failure(writes, kValueBytesMax - (goes ? 0 : kLeavingBytes));
    if (plan.problem) co_return plan;
    if (dry_run) {
      plan.changes = changes_of(standing(*snapshot, plan), plan.record);
      co_return plan;
    }
    Result<Revision> written = co_await writer_.commit(snapshot->lock, std::move(writes));
    if (written) {
      set_revision(plan, *written);
      changed_.set();
      co_return plan;
    }
    if (written.outcome() != Outcome::conflict) co_return std::unexpected(written.error());
  }
  co_return too_busy();
}

Task<Result<BalancerPlan>> Ledger::put(api::LoadBalancer said, Preconditions preconditions,
                                       const Pools* pools_allowed, bool dry_run,
                                       Preferred preferred) {
  CO_TRY(check_kernel_was_seen());
  const ObjectName name{said.metadata.owner, said.metadata.name};
  std::function<BalancerPlan(const LedgerSnapshot&)> planner =
      [this, said = std::move(said), preconditions, pools_allowed, name,
       preferred = std::move(preferred), uid = random_.uuid()](const LedgerSnapshot& snapshot) {
        Circumstances now = circumstances(pools_allowed);
        now.preferred = &preferred;
        return plan_put(snapshot, said, preconditions, now, uid, kernel_generation(name));
      };
  Result<BalancerPlan> plan = co_await decide(std::move(planner), dry_run);
  if (plan && !plan->problem && plan->write && !dry_run) {
    // It was adopted.
    orphans_.erase(name);
    abandoned_.erase(name);
  }
  co_return plan;
}

Task<Result<BalancerPlan>> Ledger::remove(ObjectName name, Preconditions preconditions,
                                          bool dry_run) {
  CO_TRY(check_kernel_was_seen());
  const Snapshot snapshot = CO_TRY(co_await latest());
  if (snapshot->balancer(name) == nullptr && orphans_.contains(name)) {
    co_return remove_orphan(name, preconditions, dry_run);
  }
  std::function<BalancerPlan(const LedgerSnapshot&)> planner =
      [this, name = std::move(name), preconditions](const LedgerSnapshot& snapshot) {
        return plan_delete(snapshot, name, preconditions, clock_.wall_now(),
                           kernel_generation(name));
      };
  Result<BalancerPlan> plan = co_await decide(std::move(planner), dry_run);
  co_return plan;
}

BalancerPlan Ledger::remove_orphan(const ObjectName& name, const Preconditions& preconditions,
                                   bool dry_run) {
  BalancerPlan plan;
  plan.problem = precondition_failure(preconditions, "load balancer", std::nullopt);
  if (plan.problem) return plan;
  plan.generation_before = orphans_.at(name).generation;
  plan.abandoned = !dry_run && !abandoned_.contains(name);
  if (plan.abandoned) (void)abandon(name);  // It is there.
  plan.problem = api::make_problem(
      api::problem::unavailable,
      fmt::format("the host still serves {}, which the store does not know: {}", to_string(name),
                  dry_run ? "it would be taken away" : "it is taken away"));
  plan.problem->retry_after_s = kRetryAfter / std::chrono::seconds(1);
  return plan;
}

Task<Result<TargetSetPlan>> Ledger::put(api::TargetSet said, Preconditions preconditions,
                                        bool dry_run) {
  std::function<TargetSetPlan(const LedgerSnapshot&)> planner =
      [this, said = std::move(said), preconditions,
       uid = random_.uuid()](const LedgerSnapshot& snapshot) {
        return plan_put(snapshot, said, preconditions, circumstances(), uid);
      };
  Result<TargetSetPlan> plan = co_await decide(std::move(planner), dry_run);
  co_return plan;
}

Task<Result<TargetSetPlan>> Ledger::remove_target_set(ObjectName name, Preconditions preconditions,
                                                      bool dry_run) {
  std::function<TargetSetPlan(const LedgerSnapshot&)> planner =
      [this, name = std::move(name), preconditions](const LedgerSnapshot& snapshot) {
        return plan_delete_target_set(snapshot, name, preconditions, clock_.wall_now());
      };
  Result<TargetSetPlan> plan = co_await decide(std::move(planner), dry_run);
  co_return plan;
}

Task<Result<RouteTablePlan>> Ledger::put(api::RouteTable said, Preconditions preconditions,
                                         const std::vector<IpPrefix>* destinations, bool dry_run) {
  CO_TRY(check_kernel_was_seen());
  std::function<RouteTablePlan(const LedgerSnapshot&)> planner =
      [this, said = std::move(said), preconditions, destinations,
       uid = random_.uuid()](const LedgerSnapshot& snapshot) {
        const RouteCircumstances now{clock_.wall_now(), destinations, forwards_};
        return plan_put(snapshot, said, preconditions, now, uid);
      };
  Result<RouteTablePlan> plan = co_await decide(std::move(planner), dry_run);
  co_return plan;
}

Task<Result<RouteTablePlan>> Ledger::remove_route_table(ObjectName name,
                                                        Preconditions preconditions, bool dry_run) {
  CO_TRY(check_kernel_was_seen());
  std::function<RouteTablePlan(const LedgerSnapshot&)> planner =
      [this, name = std::move(name), preconditions](const LedgerSnapshot& snapshot) {
        return plan_delete_route_table(snapshot, name, preconditions, clock_.wall_now());
      };
  Result<RouteTablePlan> plan = co_await decide(std::move(planner), dry_run);
  co_return plan;
}

Task<Result<std::vector<std::string>>> Ledger::load_pools(std::vector<api::Pool> pools) {
  Mistakes mistakes;
  std::vector<std::string> names;
  std::function<std::vector<Write>(const LedgerSnapshot&)> planner =
      [&](const LedgerSnapshot& snapshot) {
        mistakes = {};
        names.clear();
        std::vector<Write> writes;
        const std::vector<PoolRecord> records = plan_pools(snapshot, pools, mistakes);
        if (!mistakes.empty()) return writes;
        for (const PoolRecord& record : records) {
          names.push_back(record.pool.name);
          writes.push_back({pool_key(record.pool.name), encode(record)});
        }
        return writes;
      };
  CO_TRY(co_await change(std::move(planner)));
  CO_TRY(mistakes.result());
  if (!names.empty()) changed_.set();
  co_return names;
}

// Writes what the planner says, as long as it says something.
Task<Result<>> Ledger::change(std::function<std::vector<Write>(const LedgerSnapshot&)> planner) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Snapshot snapshot = CO_TRY(co_await latest());
    std::vector<Write> writes = planner(*snapshot);
    if (writes.empty()) co_return Result<>{};
    Result<Revision> written = co_await writer_.commit(snapshot->lock, std::move(writes));
    if (written) co_return Result<>{};
    if (written.outcome() != Outcome::conflict) co_return std::unexpected(written.error());
  }
  co_return too_busy();
}

Task<Result<>> Ledger::finalize(std::vector<ObjectName> names) {
  std::span<ObjectName> left = names;
  while (!left.empty()) {
    std::function<std::vector<Write>(const LedgerSnapshot&)> planner =
        [this, some = take_front(left, kFinalizedPerCommit)](const LedgerSnapshot& snapshot) {
          return plan_finalize(snapshot, some, circumstances());
        };
    CO_TRY(co_await change(std::move(planner)));
  }
  co_return Result<>{};
}

Task<Result<>> Ledger::finalize_route_tables(std::vector<ObjectName> names) {
  std::function<std::vector<Write>(const LedgerSnapshot&)> planner =
      [this, names = std::move(names)](const LedgerSnapshot& snapshot) {
        return plan_finalize_route_tables(snapshot, names, clock_.wall_now());
      };
  Result<> finalized = co_await change(std::move(planner));
  co_return finalized;
}

Task<Result<>> Ledger::forget() {
  bool more = true;
  while (more) {
    std::function<std::vector<Write>(const LedgerSnapshot&)> planner =
        [this, &more](const LedgerSnapshot& snapshot) {
          std::vector<Write> writes = plan_forget(snapshot, clock_.wall_now());
          more = writes.size() > kForgottenPerCommit;
          if (more) writes.resize(kForgottenPerCommit);
          return writes;
        };
    CO_TRY(co_await change(std::move(planner)));
  }
  co_return Result<>{};
}

Task<Result<>> Ledger::report(std::vector<FoundStatus> statuses) {
  std::span<FoundStatus> left = statuses;
  while (!left.empty()) {
    CO_TRY(co_await report_some(take_front(left, kStatusesPerCommit)));
  }
  co_return Result<>{};
}

Task<Result<>> Ledger::report_some(std::vector<FoundStatus> statuses) {
  for (FoundStatus& found : statuses) found.status = kept(std::move(found.status));
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Snapshot snapshot = CO_TRY(co_await latest());
    std::vector<Write> writes;
    // So that the status of one that is deleted meanwhile is not written after it went.
    std::vector<Condition> conditions;
    for (const FoundStatus& found : statuses) {
      const BalancerRecord* record = snapshot->balancer(found.name);
      const StatusRecord* status = snapshot->status(found.name);
      const bool stands = status != nullptr && status->status == found.status;
      if (record == nullptr || stands) continue;
      writes.push_back({key_of(kStatusPrefix, found.name), encode(StatusRecord{found.status})});
      conditions.push_back({key_of(kBalancerPrefix, found.name), record->metadata.revision});
    }
    if (writes.empty()) co_return Result<>{};
    Result<Revision> written = co_await writer_.commit(std::move(conditions), std::move(writes));
    if (written) co_return Result<>{};
    if (written.outcome() != Outcome::conflict) co_return std::unexpected(written.error());
  }
  co_return too_busy();
}

Task<Result<>> Ledger::report(ObjectName name, api::RouteTableStatus status) {
  status = kept(std::move(status));
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Snapshot snapshot = CO_TRY(co_await latest());
    const RouteTableRecord* record = snapshot->route_table(name);
    const RouteStatusRecord* stands = snapshot->route_status(name);
    if (record == nullptr || (stands != nullptr && stands->status == status)) co_return Result<>{};
    // So that the status of one that is deleted meanwhile is not written after it went.
    std::vector<Condition> conditions{{key_of(kRouteTablePrefix, name), record->metadata.revision}};
    std::vector<Write> writes{
        {key_of(kRouteStatusPrefix, name), encode(RouteStatusRecord{status})}};
    Result<Revision> written = co_await writer_.commit(std::move(conditions), std::move(writes));
    if (written) co_return Result<>{};
    if (written.outcome() != Outcome::conflict) co_return std::unexpected(written.error());
  }
  co_return too_busy();
}

void Ledger::found_in_kernel(Orphans orphans, std::map<ObjectName, std::uint64_t> generations) {
  kernel_was_seen_ = true;
  orphans_ = std::move(orphans);
  std::erase_if(abandoned_, [this](const ObjectName& name) { return !orphans_.contains(name); });
  for (const auto& [name, generation] : generations) {
    std::uint64_t& highest = kernel_generations_[name];
    highest = std::max(highest, generation);
  }
}

Result<> Ledger::abandon(const ObjectName& name) {
  if (!orphans_.contains(name)) {
    return fail(Outcome::absent, fmt::format("there is no orphan {}", to_string(name)));
  }
  abandoned_.insert(name);
  changed_.set();
  return {};
}

}  // namespace isthmus::infra
