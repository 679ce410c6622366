#include "isthmus/infra/object_views.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace isthmus::infra {
using api::ConditionStatus;

namespace {

constexpr std::string_view kNotTakenUp = "the host has not taken it up yet";

api::Condition condition_at_first(const api::Metadata& metadata, std::string_view type,
                                  ConditionStatus truth, std::string_view reason, WallTime now) {
  return {.type = std::string(type),
          .status = truth,
          .reason = std::string(reason),
          .message = truth == ConditionStatus::unknown ? std::string(kNotTakenUp) : "",
          .last_transition = now,
          .observed_generation = metadata.generation};
}

}  // namespace

std::vector<api::Condition> conditions_at_first(const BalancerRecord& record, WallTime now) {
  auto first = [&](std::string_view type, ConditionStatus truth, std::string_view reason) {
    return condition_at_first(record.metadata, type, truth, reason, now);
  };
  return {first(api::condition::accepted, ConditionStatus::is_true, "Accepted"),
          first(api::condition::address_allocated, ConditionStatus::is_true, "Allocated"),
          first(api::condition::programmed, ConditionStatus::unknown, "Pending"),
          first(api::condition::ready, ConditionStatus::unknown, "Pending")};
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

namespace {

// `found` says which are not applied; nullptr where nobody has looked yet.
std::vector<api::RouteStatus> route_states(const RouteTableRecord& record,
                                           const RouteStatusRecord* found) {
  std::map<IpPrefix, const api::RouteStatus*> not_applied;
  if (found != nullptr) {
    for (const api::RouteStatus& route : found->status.routes) {
      not_applied.emplace(route.destination, &route);
    }
  }
  std::vector<api::RouteStatus> states;
  states.reserve(record.spec.routes.size());
  for (const api::RouteEntry& route : record.spec.routes) {
    auto known = not_applied.find(route.destination);
    if (found == nullptr) {
      states.push_back({route.destination, api::RouteState::pending, "Pending", ""});
    } else if (known != not_applied.end()) {
      states.push_back(*known->second);
    } else {
      states.push_back({route.destination, api::RouteState::applied, "", ""});
    }
  }
  return states;
}

}  // namespace

api::RouteTable shown(const LedgerSnapshot& snapshot, const RouteTableRecord& record,
                      WallTime now) {
  api::RouteTable table{record.metadata, record.spec, {}};
  if (record.is_tombstone()) return table;
  const RouteStatusRecord* found =
      snapshot.route_status(ObjectName{record.metadata.owner, record.metadata.name});
  if (found != nullptr) {
    table.status.observed_generation = found->status.observed_generation;
    table.status.applied_generation = found->status.applied_generation;
    table.status.conditions = found->status.conditions;
    table.status.orphans = found->status.orphans;
    table.metadata.revision = std::max(table.metadata.revision, found->revision);
  } else {
    table.status.conditions = {condition_at_first(record.metadata, api::condition::accepted,
                                                  ConditionStatus::is_true, "Accepted", now),
                               condition_at_first(record.metadata, api::condition::programmed,
                                                  ConditionStatus::unknown, "Pending", now),
                               condition_at_first(record.metadata, api::condition::ready,
                                                  ConditionStatus::unknown, "Pending", now)};
  }
  const bool is_seen =
      found != nullptr && found->status.observed_generation == record.metadata.generation;
  table.status.routes = route_states(record, is_seen ? found : nullptr);
  return table;
}

}  // namespace isthmus::infra
