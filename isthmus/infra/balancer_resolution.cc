#include "isthmus/infra/balancer_resolution.h"

#include <algorithm>

#include "isthmus/infra/kernel_view.h"

namespace isthmus::infra {
namespace {

bool has_family(const BalancerRecord& record, IpFamily family) {
  return std::ranges::any_of(record.addresses,
                             [&](const IpAddress& one) { return one.family == family; });
}

drivers::Protocol translated(api::Protocol protocol) {
  return protocol == api::Protocol::tcp ? drivers::Protocol::tcp : drivers::Protocol::udp;
}

class Resolver {
 public:
  Resolver(const LedgerSnapshot& snapshot, const BalancerRecord& record, const HostRole& host,
           const VerdictOf& verdict_of)
      : snapshot_(snapshot), record_(record), host_(host), verdict_of_(verdict_of) {}

  Resolution run() {
    drivers::Balancer& balancer = result_.balancer;
    const ObjectName name{record_.metadata.owner, record_.metadata.name};
    balancer.note = encode(KernelNote{name, record_.metadata.generation});
    balancer.addresses = record_.addresses;
    balancer.client_affinity = record_.spec.affinity == api::Affinity::client_ip;
    balancer.allowed_sources = record_.spec.allowed_sources;
    balancer.announce_only = host_.announce_only;
    place_addresses();
    for (const api::TargetGroup& group : record_.spec.target_groups) add_group(group);
    for (const api::Listener& listener : record_.spec.listeners) {
      balancer.listeners.push_back(
          {translated(listener.protocol), listener.port, group_of(listener)});
    }
    return std::move(result_);
  }

 private:
  void place_addresses() {
    api::SourceAddress source = api::SourceAddress::masquerade;
    for (const IpAddress& address : record_.addresses) {
      ResolvedAddress& placed = result_.addresses.emplace_back(ResolvedAddress{address, {}});
      const AddressRecord* held = snapshot_.address(address);
      if (held == nullptr) continue;
      if (held->host != host_.name) result_.other_host = held->host;
      if (const PoolRecord* pool = snapshot_.pools.look_up(held->pool)) {
        placed.interface = pool->pool.interface;
        source = pool->pool.source_address;
      }
    }
    source = record_.spec.source_address.value_or(source);
    const bool keeps = source == api::SourceAddress::keep && !host_.announce_only;
    result_.balancer.source_address =
        keeps ? drivers::SourceAddress::keep : drivers::SourceAddress::masquerade;
  }

  // One past the end where there is no such group, which no driver takes.
  std::size_t group_of(const api::Listener& listener) const {
    const auto& groups = record_.spec.target_groups;
    auto found = std::ranges::find(groups, listener.target_group, &api::TargetGroup::name);
    return static_cast<std::size_t>(found - groups.begin());
  }

  void add_group(const api::TargetGroup& group) {
    result_.balancer.groups.emplace_back();
    const std::size_t first = result_.targets.size();
    if (group.target_set.empty()) {
      for (const api::Target& target : group.targets) {
        add(group, {}, {target.address, target.port}, target.weight, target.drain);
      }
    } else if (const TargetSetRecord* set =
                   snapshot_.target_set({record_.metadata.owner, group.target_set})) {
      for (const api::SetTarget& target : set->set.targets) {
        for (const IpAddress& address : target.addresses) {
          if (!has_family(record_, address.family)) continue;
          add(group, target.name, {address, group.port}, target.weight, target.drain);
        }
      }
    } else {
      result_.missing_sets.push_back(group.target_set);
    }
    keep_all_where_none_is_usable(first, IpFamily::v4);
    keep_all_where_none_is_usable(first, IpFamily::v6);
  }

  void add(const api::TargetGroup& group, std::string_view name, const Endpoint& endpoint,
           std::uint32_t weight, bool drain) {
    std::vector<drivers::Target>& targets = result_.balancer.groups.back();
    ResolvedTarget target{.group = result_.balancer.groups.size() - 1,
                          .name = name,
                          .endpoint = endpoint,
                          .check = {},
                          .verdict = {.health = api::Health::unchecked, .reason = {}}};
    const bool could_do_something =
        !host_.announce_only || host_.own_addresses.contains(endpoint.address);
    const bool checked =
        group.health_check && could_do_something && has_family(record_, endpoint.address.family);
    if (checked) {
      target.check = Check{endpoint.address, *group.health_check};
      if (target.check->how.port == 0) target.check->how.port = endpoint.port;
      target.verdict = verdict_of_(*target.check);
    }
    targets.push_back({.endpoint = endpoint,
                       .weight = weight,
                       .drain = drain,
                       .usable = target.verdict.health != api::Health::unhealthy});
    result_.targets.push_back(std::move(target));
  }

  void keep_all_where_none_is_usable(std::size_t first, IpFamily family) {
    std::vector<drivers::Target>& targets = result_.balancer.groups.back();
    ISTHMUS_ASSERT(result_.targets.size() - first == targets.size(), "one is the other's state");
    auto of_family = [&](const drivers::Target& target) {
      return target.endpoint.address.family == family && target.weight > 0 && !target.drain;
    };
    const bool any = std::ranges::any_of(targets, of_family);
    const bool any_usable = std::ranges::any_of(
        targets, [&](const drivers::Target& target) { return of_family(target) && target.usable; });
    if (!any || any_usable) return;
    for (drivers::Target& target : targets) {
      if (of_family(target)) target.usable = true;
    }
    result_.all_kept = true;
  }

  const LedgerSnapshot& snapshot_;
  const BalancerRecord& record_;
  const HostRole& host_;
  const VerdictOf& verdict_of_;
  Resolution result_;
};

}  // namespace

std::set<drivers::ListenerKey> listeners_of(const drivers::Balancer& balancer) {
  std::set<drivers::ListenerKey> keys;
  for (const IpAddress& address : balancer.addresses) {
    for (const drivers::Listener& listener : balancer.listeners) {
      keys.insert({address, listener.protocol, listener.port});
    }
  }
  return keys;
}

std::set<drivers::ListenerKey> listeners_of(const BalancerRecord& record) {
  std::set<drivers::ListenerKey> keys;
  for (const IpAddress& address : record.addresses) {
    for (const api::Listener& listener : record.spec.listeners) {
      keys.insert({address, translated(listener.protocol), listener.port});
    }
  }
  return keys;
}

std::vector<Check> Resolution::checks() const {
  std::vector<Check> checks;
  for (const ResolvedTarget& target : targets) {
    if (target.check) checks.push_back(*target.check);
  }
  return checks;
}

Resolution resolve(const LedgerSnapshot& snapshot, const BalancerRecord& record,
                   const HostRole& host, const VerdictOf& verdict_of) {
  return Resolver(snapshot, record, host, verdict_of).run();
}

Serving serving_targets(const drivers::Balancer& balancer, const drivers::Held& held) {
  Serving serving;
  for (const IpAddress& address : balancer.addresses) {
    for (const drivers::Listener& listener : balancer.listeners) {
      auto found = held.listeners.find({address, listener.protocol, listener.port});
      if (found == held.listeners.end()) continue;
      for (const Endpoint& owner : found->second.slots) {
        if (owner.port != 0) serving.emplace(listener.group, owner);
      }
    }
  }
  return serving;
}

std::vector<Check> checks_not_served(const Resolution& resolution, const drivers::Held& held) {
  const Serving serving = serving_targets(resolution.balancer, held);
  std::vector<Check> checks;
  auto target = resolution.targets.begin();
  for (std::size_t group = 0; group < resolution.balancer.groups.size(); ++group) {
    const auto& targets = resolution.balancer.groups[group];
    const bool any_serves =
        serving.lower_bound({group, {}}) != serving.lower_bound({group + 1, {}});
    for (const drivers::Target& one : targets) {
      const bool should = any_serves && targets.size() <= drivers::kSlots && one.weight > 0 &&
                          !one.drain && target->check;
      if (should && !serving.contains({group, one.endpoint})) checks.push_back(*target->check);
      ++target;
    }
  }
  return checks;
}

std::vector<api::TargetStatus> target_statuses(const Resolution& resolution,
                                               const BalancerRecord& record,
                                               const Serving& serving) {
  std::vector<api::TargetStatus> statuses;
  for (const ResolvedTarget& target : resolution.targets) {
    statuses.push_back({.group = record.spec.target_groups[target.group].name,
                        .name = std::string(target.name),
                        .address = target.endpoint.address,
                        .port = target.endpoint.port,
                        .health = target.verdict.health,
                        .reason = target.verdict.reason,
                        .serving = serving.contains({target.group, target.endpoint})});
  }
  return statuses;
}

}  // namespace isthmus::infra
