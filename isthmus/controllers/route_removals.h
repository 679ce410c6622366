// Which ownerless routes may go. A route that is taken away too early cuts off the pods of a live
// machine; one that stays too long leads packets nowhere. So a removal takes its time:
//
// - The route was seen ownerless in two passes, at least `confirm_after` apart, and in no pass in
//   between was it not. Passes with a view that nobody should believe do not count.
// - A pass removes no more than `few`, or `percent` of all routes where that is more, and passes
//   that remove are `pass_every` apart; so that a mistake is seen while little is lost.
//
// That the API server itself says that no Node has the destination is asked by the caller, before
// anything is removed.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/cloud/route.h"

namespace isthmus::controllers {

struct RouteRemovalLimits {
  Duration confirm_after = std::chrono::seconds(60);
  Duration pass_every = std::chrono::seconds(60);
  std::size_t few = 5;
  std::size_t percent = 10;
};

// A resource; all it knows is lost with the process, and then everything is confirmed anew.
class RouteRemovals final {
 public:
  explicit RouteRemovals(RouteRemovalLimits limits) : limits_(limits) {}

  // One pass: these routes are ownerless now, of so many in all. Answers those that may go, in the
  // order of their destinations.
  std::vector<cloud::RouteState> pass(const std::vector<cloud::RouteState>& ownerless,
                                      std::size_t total, Moment now);

  // A Node has this destination after all: its route begins anew.
  void acquit(const IpPrefix& destination) { suspects_.erase(destination); }

  // Something was removed.
  void removed(Moment now) { removed_at_ = now; }

  // When the next pass is worth while; nullopt: no route is suspected.
  std::optional<Moment> next_pass() const;

  std::size_t suspects() const { return suspects_.size(); }

 private:
  struct Suspect {
    cloud::Route route;
    Moment since;
  };

  const RouteRemovalLimits limits_;
  std::map<IpPrefix, Suspect> suspects_;
  std::optional<Moment> removed_at_;
};

}  // namespace isthmus::controllers
