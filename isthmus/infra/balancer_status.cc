#include "isthmus/infra/balancer_status.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "isthmus/infra/condition_teller.h"

namespace isthmus::infra {
namespace {

using api::ConditionStatus;

Said accepted(const Findings& findings) {
  if (findings.refused) {
    return {ConditionStatus::is_false, findings.trouble->reason, findings.trouble->message};
  }
  return {ConditionStatus::is_true, "Accepted", ""};
}

Said allocated(const BalancerRecord& record) {
  if (record.addresses.empty()) {
    return {ConditionStatus::is_false, "NoAddress",
            "it holds no address; write it again to have one allocated"};
  }
  return {ConditionStatus::is_true, "Allocated", ""};
}

Said programmed(const Findings& findings) {
  if (findings.trouble) {
    return {ConditionStatus::is_false, findings.trouble->reason, findings.trouble->message};
  }
  return {ConditionStatus::is_true, "Programmed", ""};
}

Said healthy(const TargetFacts& targets) {
  const char* kept = targets.all_kept ? "; where all are unhealthy, all are kept serving" : "";
  if (!targets.missing_sets.empty()) {
    return {ConditionStatus::is_false, reason::set_missing,
            fmt::format("there is no target set {}; write it", targets.missing_sets.front())};
  }
  if (targets.targets == 0) {
    return {ConditionStatus::is_false, reason::no_targets,
            "no group has a target; new connections are refused"};
  }
  if (targets.unserved) {
    return {ConditionStatus::is_false, reason::no_targets,
            fmt::format("no target can serve {}: each is of another family, of weight 0 or "
                        "drained; new connections there are refused",
                        to_string(*targets.unserved))};
  }
  const std::uint32_t checked = targets.healthy + targets.unhealthy + targets.unknown;
  if (targets.unhealthy > 0) {
    const bool none = targets.healthy + targets.unknown == 0 && checked == targets.targets;
    return {ConditionStatus::is_false, none ? reason::none_healthy : reason::some_unhealthy,
            fmt::format("{} of {} targets are unhealthy{}; targetHealth says which and why",
                        targets.unhealthy, targets.targets, kept)};
  }
  if (checked == 0) {
    return {ConditionStatus::unknown, reason::unchecked,
            "no group has a health check; every target is taken as healthy"};
  }
  if (targets.unknown > 0) {
    return {ConditionStatus::unknown, reason::not_judged,
            fmt::format("{} of {} targets were not judged yet", targets.unknown, checked)};
  }
  return {ConditionStatus::is_true, reason::all_healthy, ""};
}

Said return_path(const Findings& findings) {
  if (findings.targets.local) {
    return {ConditionStatus::is_false, reason::not_needed, "this host only announces the address"};
  }
  if (!findings.targets.keeps_source) {
    return {ConditionStatus::is_false, reason::not_needed,
            "targets see this host's address and answer to it"};
  }
  if (findings.return_path_missing) {
    return {ConditionStatus::is_true, reason::no_replies,
            "flows reach targets and no reply comes back through this host: it must be the "
            "targets' route to the clients; make it so, or set sourceAddress to masquerade"};
  }
  return {ConditionStatus::is_false, reason::replies_pass, ""};
}

Said local_target(api::Health found, const TargetFacts& targets) {
  switch (found) {
    case api::Health::unhealthy:
      return {ConditionStatus::is_true, api::condition::no_local_target,
              fmt::format("kube-proxy on this host balances, and the check of this host {}: with "
                          "externalTrafficPolicy Local, no pod of the Service is ready here, so "
                          "run one on this host, or use Cluster; with Cluster, kube-proxy itself "
                          "is not well",
                          targets.local_failure)};
    case api::Health::healthy:
      return {ConditionStatus::is_false, reason::local_target, ""};
    case api::Health::unknown:
      return {ConditionStatus::unknown, reason::not_judged, "this host was not judged yet"};
    case api::Health::unchecked:
      break;
  }
  return {ConditionStatus::unknown, reason::unchecked,
          "no target with a health check is this host, so nobody knows what kube-proxy here does"};
}

// What there is to say of it, first of all whether the host is one of the targets at all.
void look_at_local_targets(const Resolution& resolution, TargetFacts& facts) {
  facts.local = api::Health::unchecked;
  for (const ResolvedTarget& target : resolution.targets) {
    if (!target.check || facts.local == api::Health::unhealthy) continue;
    if (target.verdict.health < *facts.local) continue;
    facts.local = target.verdict.health;
    if (facts.local != api::Health::unhealthy) continue;
    const Check& check = *target.check;
    const bool http = check.how.protocol == api::HealthCheck::Protocol::http;
    facts.local_failure =
        fmt::format("({}{}) fails: {}", to_string(Endpoint{check.address, check.how.port}),
                    http ? check.how.path : "", target.verdict.reason);
  }
}

Said ready(const std::vector<Said>& needed) {
  for (const Said& said : needed) {
    if (said.status != ConditionStatus::is_true) return said;
  }
  return {ConditionStatus::is_true, "Ready", ""};
}

bool can_serve(const drivers::Target& target, IpFamily family) {
  return target.endpoint.address.family == family && target.weight > 0 && !target.drain &&
         target.usable;
}

std::optional<drivers::ListenerKey> first_unserved(const drivers::Balancer& balancer) {
  if (balancer.announce_only) return std::nullopt;
  for (const IpAddress& address : balancer.addresses) {
    for (const drivers::Listener& listener : balancer.listeners) {
      if (listener.group >= balancer.groups.size()) continue;  // Which is refused as a whole.
      const bool served = std::ranges::any_of(
          balancer.groups[listener.group],
          [&](const drivers::Target& target) { return can_serve(target, address.family); });
      if (!served) return drivers::ListenerKey{address, listener.protocol, listener.port};
    }
  }
  return std::nullopt;
}

}  // namespace

Trouble trouble_of(const Error& error) {
  switch (error.outcome) {
    case Outcome::denied:
      return {reason::not_permitted, error.message};
    case Outcome::unsupported:
      return {reason::unsupported, error.message};
    case Outcome::invalid:
      return {reason::refused, error.message};
    default:
      return {reason::rules_failed, error.message};
  }
}

TargetFacts facts_of(const Resolution& resolution, const Serving& serving) {
  // A target in two groups is as bad as the worse check says.
  std::map<Endpoint, api::Health> health;
  for (const ResolvedTarget& target : resolution.targets) {
    api::Health& worst = health.try_emplace(target.endpoint, target.verdict.health).first->second;
    worst = std::max(worst, target.verdict.health);
  }
  TargetFacts facts;
  facts.targets = static_cast<std::uint32_t>(health.size());
  for (const auto& [endpoint, found] : health) {
    facts.unchecked += found == api::Health::unchecked;
    facts.healthy += found == api::Health::healthy;
    facts.unhealthy += found == api::Health::unhealthy;
    facts.unknown += found == api::Health::unknown;
  }
  std::set<Endpoint> endpoints;
  for (const auto& [group, endpoint] : serving) endpoints.insert(endpoint);
  facts.serving = static_cast<std::uint32_t>(endpoints.size());
  facts.all_kept = resolution.all_kept;
  facts.keeps_source = resolution.balancer.source_address == drivers::SourceAddress::keep;
  facts.missing_sets = resolution.missing_sets;
  facts.unserved = first_unserved(resolution.balancer);
  if (resolution.balancer.announce_only) look_at_local_targets(resolution, facts);
  return facts;
}

api::LoadBalancerStatus status_of(const BalancerRecord& record, const Findings& findings,
                                  const api::LoadBalancerStatus& before, WallTime now) {
  api::LoadBalancerStatus status;
  status.addresses = record.addresses;
  status.observed_generation = record.metadata.generation;
  status.applied_generation = findings.applied_generation;
  status.conditions = before.conditions;
  status.targets = findings.targets.targets;
  status.targets_healthy = findings.targets.healthy + findings.targets.unchecked;
  status.targets_serving = findings.targets.serving;
  status.repairs = findings.repairs.count;
  status.last_repair = findings.repairs.last;
  status.last_repair_reason = findings.repairs.last_reason;
  const ConditionTeller say(status.conditions, record.metadata.generation, now);
  const std::vector<Said> needed = {accepted(findings), allocated(record), programmed(findings)};
  say(api::condition::accepted, needed[0]);
  say(api::condition::address_allocated, needed[1]);
  say(api::condition::programmed, needed[2]);
  say(api::condition::targets_healthy, healthy(findings.targets));
  say(api::condition::return_path_missing, return_path(findings));
  if (const std::optional<api::Health>& local = findings.targets.local) {
    say(api::condition::no_local_target, local_target(*local, findings.targets));
  } else {
    // Said by another driver, if at all.
    std::erase_if(status.conditions, [](const api::Condition& condition) {
      return condition.type == api::condition::no_local_target;
    });
  }
  say(api::condition::ready, ready(needed));
  return status;
}

}  // namespace isthmus::infra
