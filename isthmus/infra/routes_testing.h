// The routes of the imagined kernel (kernel_testing.h), as a process sees and changes them.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "isthmus/infra/drivers/routes.h"
#include "isthmus/infra/kernel_testing.h"

namespace isthmus::infra::testing {

class FakeRoutes final : public drivers::RouteBook {
 public:
  // `step` counts a change that is about to be made; false: the process is gone.
  FakeRoutes(FakeKernel& kernel, std::function<bool()> step)
      : kernel_(kernel), step_(std::move(step)) {}

  std::optional<Error> refuse_to_observe;
  std::optional<Error> refuse_to_apply;

  Result<std::vector<drivers::HostRoute>> observe() override {
    if (refuse_to_observe) return std::unexpected(*refuse_to_observe);
    return kernel_.routes;
  }

  Result<Refusals> apply(std::span<const drivers::RouteChange> changes) override {
    if (refuse_to_apply) return std::unexpected(*refuse_to_apply);
    Refusals refused;
    for (const drivers::RouteChange& change : changes) {
      if (!step_()) return fail(Outcome::lost, "the process is gone");
      const Result<> made = apply(change);
      refused.push_back(made ? std::nullopt : std::optional(made.error()));
    }
    return refused;
  }

  Result<TakenRoutes> taken(std::span<const IpPrefix> destinations) override {
    TakenRoutes found;
    for (const IpPrefix& destination : destinations) {
      auto foreign = kernel_.foreign_routes.find(destination);
      auto own = of(destination);
      if (kernel_.blackholes.contains(destination)) {
        found.emplace_back();
      } else if (foreign != kernel_.foreign_routes.end()) {
        found.emplace_back(foreign->second);
      } else if (own != kernel_.routes.end()) {
        found.emplace_back(drivers::TakenRoute{destination, drivers::kRouteProtocol,
                                               drivers::kRouteMetric, own->next_hop,
                                               own->interface});
      } else {
        found.emplace_back();
      }
    }
    return found;
  }

 private:
  Result<> apply(const drivers::RouteChange& change) {
    using Kind = drivers::RouteChange::Kind;
    const IpPrefix& destination = change.route.destination;
    if (kernel_.cannot_route.contains(destination)) return fail(Outcome::lost, "no way there");
    auto own = of(destination);
    auto foreign = kernel_.foreign_routes.find(destination);
    const bool is_taken =
        foreign != kernel_.foreign_routes.end() && foreign->second.metric == drivers::kRouteMetric;
    switch (change.kind) {
      case Kind::add:
        if (own != kernel_.routes.end() || is_taken) return fail(Outcome::conflict, "it exists");
        break;
      case Kind::replace:
        if (is_taken) kernel_.violations.push_back(to_string(destination) + " was stolen");
        if (own == kernel_.routes.end()) return fail(Outcome::absent, "there is none");
        kernel_.routes.erase(own);
        break;
      case Kind::remove:
        if (std::erase(kernel_.routes, change.route) == 0) {
          return fail(Outcome::absent, "there is none");
        }
        ++kernel_.route_writes;
        return {};
    }
    kernel_.routes.push_back(change.route);
    std::ranges::sort(kernel_.routes);
    ++kernel_.route_writes;
    return {};
  }

  std::vector<drivers::HostRoute>::iterator of(const IpPrefix& destination) const {
    return std::ranges::find(kernel_.routes, destination, &drivers::HostRoute::destination);
  }

  FakeKernel& kernel_;
  std::function<bool()> step_;
};

}  // namespace isthmus::infra::testing
