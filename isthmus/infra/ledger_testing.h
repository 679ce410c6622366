// Load balancers, target sets and pools for tests of the ledger and what is planned for it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/infra/allocator_testing.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

inline const ObjectName kWeb{"prod", "web"};

// TCP on the ports, to one inline target.
inline api::LoadBalancer a_balancer(const ObjectName& name,
                                    const std::vector<std::uint16_t>& ports = {80}) {
  api::LoadBalancer balancer;
  balancer.metadata.owner = name.owner;
  balancer.metadata.name = name.name;
  balancer.spec = balancer_spec(ports);
  for (api::Listener& listener : balancer.spec.listeners) listener.target_group = "machines";
  api::TargetGroup group;
  group.name = "machines";
  group.targets = {{.address = ip("10.0.0.1"), .port = 8080}};
  balancer.spec.target_groups = {std::move(group)};
  return balancer;
}

// Likewise, to a target set.
inline api::LoadBalancer a_balancer_of_set(const ObjectName& name, std::string set) {
  api::LoadBalancer balancer = a_balancer(name);
  api::TargetGroup& group = balancer.spec.target_groups.front();
  group.targets.clear();
  group.target_set = std::move(set);
  group.port = 8080;
  return balancer;
}

inline api::TargetSet a_set(const ObjectName& name,
                            const std::vector<std::string>& addresses = {"10.0.0.1"}) {
  api::TargetSet set;
  set.metadata.owner = name.owner;
  set.metadata.name = name.name;
  for (const std::string& address : addresses) {
    set.targets.push_back({.name = "node-" + address, .addresses = {ip(address)}});
  }
  return set;
}

inline api::Pool a_pool(std::string name, const std::vector<std::string>& ranges) {
  api::Pool pool;
  pool.name = std::move(name);
  for (const std::string& range : ranges) pool.ranges.push_back(parse_prefix(range).value());
  return pool;
}

inline WallTime at_second(int second) {
  return WallTime(std::chrono::seconds(1'767'225'600 + second));  // 2026-01-01T00:00:00Z
}

}  // namespace isthmus::infra
