// What packets take in the cloud in memory: the truth that both of its doors to routes lead to.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "isthmus/cloud/route.h"

namespace isthmus::providers::fake {

struct FakeRoute {
  std::optional<cloud::ProviderId> instance = {};
  std::optional<IpAddress> next_hop = {};
  bool is_foreign = false;

  friend bool operator==(const FakeRoute&, const FakeRoute&) = default;
};

// A resource.
class FakeRouter {
 public:
  // There to be read, and to be changed by other people's hands.
  std::map<IpPrefix, FakeRoute> standing;

  // Destinations that cannot be routed now: a link is down, say.
  std::set<IpPrefix> down;

  // Called for every change that a door makes, after it: what was there and what is.
  using Watcher =
      std::function<void(const IpPrefix&, const FakeRoute* before, const FakeRoute* after)>;
  Watcher on_change;

  // For the doors. Puts a route there unless it is there already; answers whether it was not.
  bool put(const IpPrefix& destination, const FakeRoute& route);
  void take(const IpPrefix& destination);
};

}  // namespace isthmus::providers::fake
