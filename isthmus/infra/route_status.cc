#include "isthmus/infra/route_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isthmus/infra/condition_teller.h"

namespace isthmus::infra {
namespace {

using api::ConditionStatus;
using api::RouteState;

// "2 of 7 routes are in conflict; 10.244.1.0/24: …"
std::string told(const RouteTableRecord& record, const RouteFindings& findings, RouteState state,
                 std::string_view what) {
  const auto is_so = [&](const api::RouteStatus& route) { return route.state == state; };
  const auto first = std::ranges::find_if(findings.not_applied, is_so);
  return fmt::format("{} of {} routes {}; {}: {}",
                     std::ranges::count_if(findings.not_applied, is_so), record.spec.routes.size(),
                     what, to_string(first->destination), first->message);
}

bool any(const RouteFindings& findings, RouteState state) {
  return std::ranges::any_of(findings.not_applied,
                             [&](const api::RouteStatus& route) { return route.state == state; });
}

Said programmed(const RouteTableRecord& record, const RouteFindings& findings) {
  if (findings.failure) {
    return {ConditionStatus::is_false, reason::routes_failed, *findings.failure};
  }
  if (any(findings, RouteState::conflict)) {
    return {ConditionStatus::is_false, reason::route_conflict,
            told(record, findings, RouteState::conflict, "are in conflict")};
  }
  if (findings.applied_generation < record.metadata.generation) {
    return {ConditionStatus::unknown, reason::pending, "the host has not taken all of it up yet"};
  }
  if (any(findings, RouteState::pending)) {
    return {ConditionStatus::is_false, reason::routes_pending,
            told(record, findings, RouteState::pending, "are pending")};
  }
  return {ConditionStatus::is_true, api::condition::programmed, ""};
}

Said ready(const Said& programmed, const RouteFindings& findings) {
  if (programmed.status != ConditionStatus::is_true) return programmed;
  if (findings.not_forwarded) {
    return {ConditionStatus::is_false, reason::forwarding_off, *findings.not_forwarded};
  }
  return {ConditionStatus::is_true, api::condition::ready, ""};
}

}  // namespace

api::RouteTableStatus status_of(const RouteTableRecord& record, RouteFindings findings,
                                const api::RouteTableStatus& before, WallTime now) {
  api::RouteTableStatus status;
  status.observed_generation = record.metadata.generation;
  status.applied_generation = findings.applied_generation;
  status.conditions = before.conditions;
  const ConditionTeller say(status.conditions, record.metadata.generation, now);
  const Said is_programmed = programmed(record, findings);
  say(api::condition::accepted, {ConditionStatus::is_true, api::condition::accepted, ""});
  say(api::condition::programmed, is_programmed);
  say(api::condition::ready, ready(is_programmed, findings));
  status.routes = std::move(findings.not_applied);
  status.orphans = std::move(findings.orphans);
  return status;
}

}  // namespace isthmus::infra
