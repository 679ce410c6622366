// A kernel that is only imagined: what the doors of host_testing.h lead to. It outlives processes.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "isthmus/infra/drivers/plan.h"
#include "isthmus/infra/host.h"

namespace isthmus::infra::testing {

inline IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

// What a kernel holds. It notes whatever should never be, after every single change.
struct FakeKernel {
  drivers::Held held;
  std::vector<drivers::InterfaceAddress> addresses{{ip("10.0.0.1"), 24, "eth0", false}};
  std::set<std::string> interfaces{"eth0", "eth1"};
  std::set<std::string> down;  // Of the interfaces.
  std::set<IpFamily> not_forwarded;
  bool foreign_table = false;
  std::map<IpAddress, drivers::MacAddress> neighbours;  // Who else has an address.
  std::vector<drivers::BoundAddress> asked;             // Probes, in their order.
  std::vector<std::string> dropping_chains;
  std::map<IpAddress, int> announced;
  drivers::KernelChanges changes;
  std::vector<drivers::FlowHealth> flows;
  std::set<IpAddress> cannot_unbind;
  std::set<drivers::ListenerKey> cannot_hold;              // Too large for a transaction.
  std::vector<drivers::HostRoute> routes;                  // Ours, in order.
  std::map<IpPrefix, drivers::TakenRoute> foreign_routes;  // Before ours.
  std::set<IpPrefix> blackholes;                           // Of others, before ours.
  std::set<IpPrefix> cannot_route;
  std::size_t route_writes = 0;
  std::size_t writes = 0;
  bool is_watched = true;  // False: nothing is noted, which takes time.
  std::vector<std::string> violations;

  bool has(const IpAddress& address) const { return is_ours(address).has_value(); }
  std::optional<std::string> is_ours(const IpAddress& address) const {
    for (const drivers::InterfaceAddress& one : addresses) {
      if (one.ours && one.address == address) return one.interface;
    }
    return std::nullopt;
  }
  // The notes of all listeners on an address.
  std::vector<std::string> notes(const IpAddress& address) const {
    std::vector<std::string> found;
    for (const auto& [key, listener] : held.listeners) {
      if (key.address == address) found.push_back(listener.note);
    }
    return found;
  }
  std::size_t ours() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        addresses, [](const drivers::InterfaceAddress& one) { return one.ours; }));
  }

  void written() {
    ++writes;
    if (!is_watched) return;
    for (const drivers::InterfaceAddress& one : addresses) {
      if (!one.ours) continue;
      const bool bare = held.structure != drivers::Structure::right ||
                        !held.guarded.contains(one.address) || notes(one.address).empty();
      if (bare) violations.push_back(fmt::format("{} is bound without rules", one.interface));
    }
    for (const auto& [key, listener] : held.listeners) {
      if (!held.guarded.contains(key.address)) {
        violations.push_back(to_string(key) + " is served without a guard");
      }
    }
  }
};

}  // namespace isthmus::infra::testing
