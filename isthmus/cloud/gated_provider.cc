#include "isthmus/cloud/gated_provider.h"

#include <optional>
#include <utility>

namespace isthmus::cloud {
namespace {

class GatedLoadBalancers final : public LoadBalancers {
 public:
  GatedLoadBalancers(LoadBalancers& next, WriteGate& gate) : next_(next), gate_(gate) {}

  Task<Result<LoadBalancerState>> ensure(LoadBalancerSpec spec) override {
    return gate_.pass(next_.ensure(std::move(spec)));
  }
  Task<Result<>> release(std::string name) override {
    return gate_.pass(next_.release(std::move(name)));
  }
  Task<Result<LoadBalancerState>> get(std::string name) override {
    return next_.get(std::move(name));
  }
  Task<Result<Listing<LoadBalancerState>>> list() override { return next_.list(); }
  Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec spec) override {
    return next_.preview(std::move(spec));
  }
  Task<Result<>> follow(std::function<void(LoadBalancerNews)> tell) override {
    return next_.follow(std::move(tell));
  }

 private:
  LoadBalancers& next_;
  WriteGate& gate_;
};

class GatedTargetSets final : public TargetSets {
 public:
  GatedTargetSets(TargetSets& next, WriteGate& gate) : next_(next), gate_(gate) {}

  Task<Result<>> ensure(TargetSetSpec spec) override {
    return gate_.pass(next_.ensure(std::move(spec)));
  }
  Task<Result<>> release(std::string name) override {
    return gate_.pass(next_.release(std::move(name)));
  }
  Task<Result<TargetSetPreview>> preview(TargetSetSpec spec) override {
    return next_.preview(std::move(spec));
  }

 private:
  TargetSets& next_;
  WriteGate& gate_;
};

class GatedRouteTables final : public RouteTables {
 public:
  GatedRouteTables(RouteTables& next, WriteGate& gate) : next_(next), gate_(gate) {}

  Task<Result<RouteTableState>> ensure(RouteTableSpec spec) override {
    return gate_.pass(next_.ensure(std::move(spec)));
  }
  Task<Result<RouteTableState>> get(std::string name) override {
    return next_.get(std::move(name));
  }
  Task<Result<>> release(std::string name) override {
    return gate_.pass(next_.release(std::move(name)));
  }
  Task<Result<>> follow(std::string name, Tell tell) override {
    return next_.follow(std::move(name), std::move(tell));
  }

 private:
  RouteTables& next_;
  WriteGate& gate_;
};

class GatedRoutes final : public Routes {
 public:
  GatedRoutes(Routes& next, WriteGate& gate) : next_(next), gate_(gate) {}

  Task<Result<Listing<RouteState>>> list() override { return next_.list(); }
  Task<Result<>> ensure(Route route) override { return gate_.pass(next_.ensure(std::move(route))); }
  Task<Result<>> release(RouteState route) override {
    return gate_.pass(next_.release(std::move(route)));
  }

 private:
  Routes& next_;
  WriteGate& gate_;
};

class GatedFirewalls final : public Firewalls {
 public:
  GatedFirewalls(Firewalls& next, WriteGate& gate) : next_(next), gate_(gate) {}

  Task<Result<>> ensure(FirewallSpec spec) override {
    return gate_.pass(next_.ensure(std::move(spec)));
  }
  Task<Result<>> release(std::string name) override {
    return gate_.pass(next_.release(std::move(name)));
  }
  Task<Result<Listing<FirewallSpec>>> list() override { return next_.list(); }

 private:
  Firewalls& next_;
  WriteGate& gate_;
};

}  // namespace

// What changes nothing, the machines, is offered as it is.
struct GatedProvider::Gated {
  std::optional<GatedLoadBalancers> load_balancers;
  std::optional<GatedTargetSets> target_sets;
  std::optional<GatedRouteTables> route_tables;
  std::optional<GatedRoutes> routes;
  std::optional<GatedFirewalls> firewalls;
};

GatedProvider::GatedProvider(Provider& next, WriteGate& gate)
    : next_(next), gated_(std::make_unique<Gated>()) {
  const Capabilities can = next.capabilities();
  if (can.load_balancers != nullptr) gated_->load_balancers.emplace(*can.load_balancers, gate);
  if (can.target_sets != nullptr) gated_->target_sets.emplace(*can.target_sets, gate);
  if (can.route_tables != nullptr) gated_->route_tables.emplace(*can.route_tables, gate);
  if (can.routes != nullptr) gated_->routes.emplace(*can.routes, gate);
  if (can.firewalls != nullptr) gated_->firewalls.emplace(*can.firewalls, gate);
}

GatedProvider::~GatedProvider() = default;

Capabilities GatedProvider::capabilities() {
  Capabilities can = next_.capabilities();
  const auto wrap = [](auto*& offered, auto& wrapped) {
    if (wrapped) offered = &*wrapped;
  };
  wrap(can.load_balancers, gated_->load_balancers);
  wrap(can.target_sets, gated_->target_sets);
  wrap(can.route_tables, gated_->route_tables);
  wrap(can.routes, gated_->routes);
  wrap(can.firewalls, gated_->firewalls);
  return can;
}

}  // namespace isthmus::cloud
