#include "isthmus/providers/infra/translate.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using Spec = cloud::LoadBalancerSpec;
using State = cloud::LoadBalancerState;

// Reasons of Programmed that say no more than that the work is under way.
constexpr std::array<std::string_view, 2> kUnderWay = {"Pending", "ProbingAddress"};

// Reasons of TargetsHealthy: some are unhealthy, or every single one is.
constexpr std::string_view kSomeUnhealthy = "SomeUnhealthy";
constexpr std::string_view kNoneHealthy = "NoneHealthy";

// Of thousands, enough to see what they have in common.
constexpr std::size_t kSickShown = 10;

// A condition that tells of something bad by being True or by being False.
struct Alarm {
  std::string_view type;
  api::ConditionStatus bad;
  bool is_of_generation;  // It judges a spec, and says nothing of a later one.
};
constexpr std::array kAlarms = {
    Alarm{api::condition::accepted, api::ConditionStatus::is_false, true},
    Alarm{api::condition::address_allocated, api::ConditionStatus::is_false, true},
    Alarm{api::condition::programmed, api::ConditionStatus::is_false, true},
    Alarm{api::condition::targets_healthy, api::ConditionStatus::is_false, false},
    Alarm{api::condition::return_path_missing, api::ConditionStatus::is_true, false},
    Alarm{api::condition::no_local_target, api::ConditionStatus::is_true, false},
};

api::HealthCheck to_api(const Spec::HealthCheck& check) {
  const bool is_http = check.protocol == Spec::HealthCheck::Protocol::http;
  api::HealthCheck said{
      .protocol = is_http ? api::HealthCheck::Protocol::http : api::HealthCheck::Protocol::tcp,
      .port = check.port,
      .interval = check.interval,
      .timeout = check.timeout,
      .rise = check.rise,
      .fall = check.fall};
  if (is_http && !check.http_path.empty()) said.path = check.http_path;
  return said;
}

// Two machines that claim one address are one target.
std::vector<api::Target> inline_targets(const Spec& spec, std::uint16_t port) {
  std::vector<api::Target> targets;
  std::set<IpAddress> seen;
  for (const cloud::Target& target : spec.targets) {
    for (const IpAddress& address : target.addresses) {
      const bool is_wanted =
          std::ranges::find(spec.families, address.family) != spec.families.end();
      if (is_wanted && seen.insert(address).second) {
        targets.push_back({.address = address, .port = port});
      }
    }
  }
  return targets;
}

std::string group_name(std::uint16_t port) { return fmt::format("port-{}", port); }

api::TargetGroup group_of(const Spec& spec, std::uint16_t port) {
  api::TargetGroup group;
  group.name = group_name(port);
  group.target_set = spec.target_set;
  if (group.target_set.empty()) {
    group.targets = inline_targets(spec, port);
  } else {
    group.port = port;
  }
  if (spec.health_check) group.health_check = to_api(*spec.health_check);
  return group;
}

api::SourceAddress to_api(Spec::SourceAddress source) {
  return source == Spec::SourceAddress::keep ? api::SourceAddress::keep
                                             : api::SourceAddress::masquerade;
}

bool is_settled(const api::LoadBalancer& balancer) {
  const api::Condition* ready = find(balancer.status.conditions, api::condition::ready);
  return ready != nullptr && ready->status == api::ConditionStatus::is_true &&
         ready->observed_generation >= balancer.metadata.generation;
}

// While a target has not been judged yet, nobody knows that none is well.
State::Health health_of(const api::LoadBalancerStatus& status) {
  const api::Condition* found = find(status.conditions, api::condition::targets_healthy);
  if (found == nullptr || found->status == api::ConditionStatus::unknown) {
    return State::Health::unknown;
  }
  if (found->status == api::ConditionStatus::is_true) return State::Health::all;
  if (status.targets_healthy > 0) return State::Health::some;
  return found->reason == kSomeUnhealthy ? State::Health::unknown : State::Health::none;
}

// The word for it: that of the condition, where its type says nothing but that all is well.
std::string reason_of(const api::Condition& condition) {
  if (condition.status == api::ConditionStatus::is_true) return condition.type;
  if (condition.reason == kNoneHealthy) return "TargetsUnhealthy";
  return condition.reason.empty() ? "Not" + condition.type : condition.reason;
}

std::vector<State::Fact> facts_of(const api::LoadBalancer& balancer) {
  std::vector<State::Fact> facts;
  for (const Alarm& alarm : kAlarms) {
    const api::Condition* found = find(balancer.status.conditions, alarm.type);
    if (found == nullptr || found->status != alarm.bad) continue;
    const bool is_old = found->observed_generation < balancer.metadata.generation;
    if (alarm.is_of_generation && is_old) continue;
    if (std::ranges::find(kUnderWay, found->reason) != kUnderWay.end()) continue;
    if (found->reason == kSomeUnhealthy) continue;
    State::Fact fact{.reason = reason_of(*found), .message = found->message};
    // One trouble may be the reason of two conditions.
    if (std::ranges::find(facts, fact) == facts.end()) facts.push_back(std::move(fact));
  }
  return facts;
}

// The steps that the backend takes for it, in their order, that are not done.
std::vector<State::Fact> unfinished_of(const api::LoadBalancer& balancer) {
  std::vector<State::Fact> unfinished;
  if (is_settled(balancer)) return unfinished;
  for (const std::string_view type :
       {api::condition::accepted, api::condition::address_allocated, api::condition::programmed}) {
    const api::Condition* step = find(balancer.status.conditions, type);
    if (step != nullptr && step->status == api::ConditionStatus::is_true) continue;
    unfinished.push_back({.reason = std::string(type),
                          .message = step == nullptr
                                         ? "not begun"
                                         : fmt::format("{} {}", step->reason, step->message)});
  }
  return unfinished;
}

std::vector<State::Fact> sick_of(const std::vector<api::TargetStatus>& targets) {
  std::vector<State::Fact> sick;
  for (const api::TargetStatus& target : targets) {
    if (target.health != api::Health::unhealthy) continue;
    if (sick.size() == kSickShown) break;
    const std::string address = fmt::format("{}:{}", to_string(target.address), target.port);
    sick.push_back({.reason = target.name.empty() ? address : target.name + " " + address,
                    .message = target.reason});
  }
  return sick;
}

}  // namespace

api::LoadBalancer to_api(const Spec& spec) {
  api::LoadBalancer said;
  said.metadata.name = spec.name;
  said.metadata.labels = spec.labels;
  said.spec.pool = spec.pool;
  said.spec.addresses = spec.requested_addresses;
  said.spec.families = spec.families;
  said.spec.allowed_sources = spec.source_ranges;
  said.spec.affinity =
      spec.affinity == Spec::Affinity::client_ip ? api::Affinity::client_ip : api::Affinity::none;
  if (spec.source_address) said.spec.source_address = to_api(*spec.source_address);
  std::set<std::uint16_t> ports;
  for (const Spec::Listener& listener : spec.listeners) {
    const bool is_udp = listener.protocol == cloud::Protocol::udp;
    said.spec.listeners.push_back({.name = listener.name,
                                   .protocol = is_udp ? api::Protocol::udp : api::Protocol::tcp,
                                   .port = listener.port,
                                   .target_group = group_name(listener.target_port)});
    ports.insert(listener.target_port);
  }
  for (std::uint16_t port : ports) said.spec.target_groups.push_back(group_of(spec, port));
  return said;
}

api::TargetSet to_api(const cloud::TargetSetSpec& spec) {
  api::TargetSet said;
  said.metadata.name = spec.name;
  said.metadata.labels = spec.labels;
  said.targets.reserve(spec.targets.size());
  for (const cloud::Target& target : spec.targets) {
    said.targets.push_back({.name = target.name, .addresses = target.addresses});
  }
  return said;
}

std::vector<IpAddress> preferences(const Spec& spec) {
  std::vector<IpAddress> preferred;
  if (!spec.requested_addresses.empty()) return preferred;
  for (const IpAddress& address : spec.preferred_addresses) {
    const bool is_wanted = std::ranges::find(spec.families, address.family) != spec.families.end();
    const bool is_new = std::ranges::find(preferred, address) == preferred.end();
    if (is_wanted && is_new && preferred.size() < api::kBalancerAddressesMax) {
      preferred.push_back(address);
    }
  }
  return preferred;
}

State to_cloud(api::LoadBalancer balancer) {
  State state;
  state.settled = is_settled(balancer);
  state.is_leaving = balancer.metadata.deletion_requested_at.has_value();
  state.generation = balancer.metadata.generation;
  state.revision = balancer.metadata.revision;
  state.health = health_of(balancer.status);
  if (balancer.status.observed_generation > 0) state.targets = balancer.status.targets;
  state.repairs = balancer.status.repairs;
  state.facts = facts_of(balancer);
  state.name = std::move(balancer.metadata.name);
  state.labels = std::move(balancer.metadata.labels);
  state.addresses = std::move(balancer.status.addresses);
  state.last_repair = std::move(balancer.status.last_repair_reason);
  return state;
}

State to_cloud_in_detail(api::LoadBalancer balancer) {
  std::vector<State::Fact> unfinished = unfinished_of(balancer);
  std::vector<State::Fact> sick = sick_of(balancer.status.target_health);
  State state = to_cloud(std::move(balancer));
  state.unfinished = std::move(unfinished);
  state.sick = std::move(sick);
  return state;
}

Result<cloud::LoadBalancerPreview> to_cloud(api::DryRun plan) {
  using Effect = cloud::LoadBalancerPreview::Effect;
  cloud::LoadBalancerPreview preview;
  switch (plan.effect) {
    case api::DryRun::Effect::created:
      preview.effect = Effect::created;
      break;
    case api::DryRun::Effect::changed:
      preview.effect = Effect::changed;
      break;
    case api::DryRun::Effect::unchanged:
      preview.effect = Effect::unchanged;
      break;
    case api::DryRun::Effect::deleted:
      return fail(Outcome::lost,
                  "asked what it would become, and was answered that it would be deleted");
  }
  preview.addresses = std::move(plan.addresses);
  for (api::PlannedChange& change : plan.changes) {
    preview.changes.push_back({.part = std::move(change.pointer),
                               .from = std::move(change.from),
                               .to = std::move(change.to)});
  }
  return preview;
}

}  // namespace isthmus::providers::infra
