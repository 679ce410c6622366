#include "isthmus/infra/object_views.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace isthmus::infra {
using api::ConditionStatus;

std::vector<api::Condition> conditions_at_first(const BalancerRecord& record, WallTime now) {
  std::vector<api::Condition> conditions;
  auto say = [&](std::string_view type, ConditionStatus truth, std::string_view reason,
                 std::string_view message) {
    conditions.push_back({.type = std::string(type),
                          .status = truth,
                          .reason = std::string(reason),
                          .message = std::string(message),
                          .last_transition = now,
                          .observed_generation = record.metadata.generation});
  };
  constexpr std::string_view kPending = "the host has not taken it up yet";
  say(api::condition::accepted, ConditionStatus::is_true, "Accepted", "");
  say(api::condition::address_allocated, ConditionStatus::is_true, "Allocated", "");
  say(api::condition::programmed, ConditionStatus::unknown, "Pending", kPending);
  say(api::condition::ready, ConditionStatus::unknown, "Pending", kPending);
  return conditions;
}

api::LoadBalancer shown(const LedgerSnapshot& snapshot, const BalancerRecord& record,
                        WallTime now) {
  api::LoadBalancer balancer{record.metadata, record.spec, {}};
  const StatusRecord* found =
      snapshot.status(ObjectName{record.metadata.owner, record.metadata.name});
  if (found != nullptr) {
    balancer.status = found->status;
    balancer.metadata.revision = std::max(balancer.metadata.revision, found->revision);
  } else if (!record.is_tombstone()) {
    balancer.status.conditions = conditions_at_first(record, now);
  }
  balancer.status.addresses = record.addresses;
  balancer.status.target_health.clear();
  return balancer;
}

api::TargetSet shown(const LedgerSnapshot& snapshot, const TargetSetRecord& record) {
  api::TargetSet set = record.set;
  set.users = snapshot.users_of({set.metadata.owner, set.metadata.name}).size();
  return set;
}

std::map<std::string, std::uint64_t> users_by_set(const LedgerSnapshot& snapshot,
                                                  const std::string& owner) {
  std::map<std::string, std::uint64_t> users;
  for (auto next = snapshot.balancers.lower_bound(ObjectName{owner, ""});
       next != snapshot.balancers.end() && next->first.owner == owner; ++next) {
    if (next->second->is_tombstone()) continue;
    std::set<std::string_view> sets;
    for (const api::TargetGroup& group : next->second->spec.target_groups) {
      if (!group.target_set.empty()) sets.insert(group.target_set);
    }
    for (std::string_view set : sets) ++users[std::string(set)];
  }
  return users;
}

}  // namespace isthmus::infra
