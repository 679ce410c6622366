// From what was said of a load balancer to what this host must do for it: a plain function without
// IO. Target sets become targets, the pool fills what the writer left open, and what the health
// checks found decides who gets new flows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/infra/drivers/driver.h"
#include "isthmus/infra/health_checker.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// This host, as far as decisions depend on it.
struct HostRole {
  std::string name;
  bool announce_only = false;  // Its driver is `announce`: kube-proxy here balances.

  // Of its interfaces, without those of load balancers. Where it only announces, no target is
  // checked but those that are this host itself: the others get flows whatever we find.
  std::set<IpAddress> own_addresses = {};
};

struct ResolvedTarget {
  std::size_t group = 0;
  std::string_view name;  // Of a target of a set; lives as long as the snapshot.
  Endpoint endpoint;
  std::optional<Check> check;
  Verdict verdict;  // unchecked where there is no check.
};

struct ResolvedAddress {
  IpAddress address;
  std::string interface;  // Of the pool, for an address that no connected prefix contains.
};

struct Resolution {
  drivers::Balancer balancer;
  std::vector<ResolvedAddress> addresses;
  // In the order of the groups. Of the addresses of a set only those that an address of the load
  // balancer can serve; inline ones that it cannot are shown, and neither checked nor served.
  std::vector<ResolvedTarget> targets;
  std::vector<std::string> missing_sets;
  bool all_kept = false;   // In some group all are unhealthy, and so all of them are kept.
  std::string other_host;  // Not empty: that one answers for an address of it.

  std::vector<Check> checks() const;
};

// What they are, and what a record's will be, each of its addresses with each of its ports.
std::set<drivers::ListenerKey> listeners_of(const drivers::Balancer& balancer);
std::set<drivers::ListenerKey> listeners_of(const BalancerRecord& record);

using VerdictOf = std::function<Verdict(const Check&)>;

// Of a record that is no tombstone. Targets count as usable until they are found unhealthy; where
// none of a group and family would be usable, all are, because a check that fails everywhere
// rather speaks against itself.
Resolution resolve(const LedgerSnapshot& snapshot, const BalancerRecord& record,
                   const HostRole& host, const VerdictOf& verdict_of);

// Which targets own slots, by group.
using Serving = std::set<std::pair<std::size_t, Endpoint>>;
Serving serving_targets(const drivers::Balancer& balancer, const drivers::Held& held);

// The checks of targets that should have new flows and have none, although there is room for all:
// in a kernel that was programmed before our time, those that were unhealthy then.
std::vector<Check> checks_not_served(const Resolution& resolution, const drivers::Held& held);

// For the answer to a GET.
std::vector<api::TargetStatus> target_statuses(const Resolution& resolution,
                                               const BalancerRecord& record,
                                               const Serving& serving);

}  // namespace isthmus::infra
