#include "isthmus/cloud/guarded_provider.h"

#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/scope.h"

namespace isthmus::cloud {
namespace {

class GuardedInstances final : public Instances {
 public:
  GuardedInstances(Instances& next, Guard& guard) : next_(next), guard_(guard) {}

  Task<Result<Instance>> get(ProviderId id) override {
    Instance answer =
        CO_TRY(co_await guard_.call("instance_get", guard_.limits().call_deadline, next_.get(id)));
    if (answer.provider_id != id) {
      co_return fail(Outcome::lost, fmt::format("asked for {}, and was answered about {}",
                                                to_string(id), to_string(answer.provider_id)));
    }
    co_return answer;
  }

  Task<Result<Listing<Instance>>> list(InstanceQuery query) override {
    Listing<Instance> answer = CO_TRY(co_await guard_.call(
        "instance_list", guard_.limits().list_deadline, next_.list(std::move(query))));
    const auto nameless = std::erase_if(answer.items, [](const Instance& instance) {
      return instance.provider_id.scheme.empty() || instance.provider_id.id.empty();
    });
    if (nameless > 0) answer.completeness = Completeness::partial;
    co_return answer;
  }

 private:
  Instances& next_;
  Guard& guard_;
};

// What makes a state unusable, whoever answered it; empty: nothing. It is `lost`, as it may be
// about anything.
std::string nonsense_in(const LoadBalancerState& state) {
  if (state.name.empty()) return "a load balancer without a name";
  if (state.settled && !state.is_leaving && state.addresses.empty()) {
    return fmt::format("{}, settled without an address", state.name);
  }
  return {};
}

class GuardedLoadBalancers final : public LoadBalancers {
 public:
  GuardedLoadBalancers(LoadBalancers& next, Guard& guard) : next_(next), guard_(guard) {}

  Task<Result<LoadBalancerState>> ensure(LoadBalancerSpec spec) override {
    const std::string name = spec.name;
    LoadBalancerState state = CO_TRY(co_await guard_.call(
        "load_balancer_ensure", guard_.limits().call_deadline, next_.ensure(std::move(spec))));
    co_return about(name, std::move(state));
  }
  Task<Result<>> release(std::string name) override {
    return guard_.call("load_balancer_release", guard_.limits().call_deadline,
                       next_.release(std::move(name)), Guard::Busy::one_thing);
  }
  Task<Result<LoadBalancerState>> get(std::string name) override {
    LoadBalancerState state = CO_TRY(
        co_await guard_.call("load_balancer_get", guard_.limits().call_deadline, next_.get(name)));
    co_return about(name, std::move(state));
  }
  Task<Result<Listing<LoadBalancerState>>> list() override {
    Listing<LoadBalancerState> answer = CO_TRY(
        co_await guard_.call("load_balancer_list", guard_.limits().list_deadline, next_.list()));
    std::set<std::string> seen;
    const auto unusable = std::erase_if(answer.items, [&seen](const LoadBalancerState& state) {
      return !nonsense_in(state).empty() || !seen.insert(state.name).second;
    });
    if (unusable > 0) answer.completeness = Completeness::partial;
    co_return answer;
  }
  Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec spec) override {
    return guard_.call("load_balancer_preview", guard_.limits().call_deadline,
                       next_.preview(std::move(spec)));
  }

  // One long call, which neither holds a permit of the gate nor says how well the cloud is. News
  // that cannot be understood end it, because what comes after them would be read as all there is.
  Task<Result<>> follow(std::function<void(LoadBalancerNews)> tell) override {
    Scope& here = co_await current_scope();
    Scope scope(here);
    std::string nonsense;
    const auto judged = [&scope, &nonsense, &tell](LoadBalancerNews news) {
      for (const LoadBalancerState& state : news.states) {
        if (nonsense.empty()) nonsense = nonsense_in(state);
      }
      if (nonsense.empty()) tell(std::move(news));
      if (!nonsense.empty()) scope.cancel();
    };
    Result<> end = co_await scope.run(next_.follow(judged));
    if (!nonsense.empty()) co_return fail(Outcome::lost, "the news tell of " + nonsense);
    co_return end;
  }

 private:
  static Result<LoadBalancerState> about(const std::string& name, LoadBalancerState state) {
    if (state.name != name) {
      return fail(Outcome::lost,
                  fmt::format("asked for {}, and was answered about {}", name, state.name));
    }
    if (std::string nonsense = nonsense_in(state); !nonsense.empty()) {
      return fail(Outcome::lost, "contradictory answer: " + nonsense);
    }
    return state;
  }

  LoadBalancers& next_;
  Guard& guard_;
};

class GuardedTargetSets final : public TargetSets {
 public:
  GuardedTargetSets(TargetSets& next, Guard& guard) : next_(next), guard_(guard) {}

  Task<Result<>> ensure(TargetSetSpec spec) override {
    return guard_.call("target_set_ensure", guard_.limits().call_deadline,
                       next_.ensure(std::move(spec)));
  }
  Task<Result<>> release(std::string name) override {
    return guard_.call("target_set_release", guard_.limits().call_deadline,
                       next_.release(std::move(name)));
  }
  Task<Result<TargetSetPreview>> preview(TargetSetSpec spec) override {
    return guard_.call("target_set_preview", guard_.limits().call_deadline,
                       next_.preview(std::move(spec)));
  }

 private:
  TargetSets& next_;
  Guard& guard_;
};

// What makes a table of routes unusable; empty: nothing. A table that names a destination twice
// says two things about it.
std::string nonsense_in(const RouteTableState& table) {
  if (table.name.empty()) return "a table of routes without a name";
  std::set<IpPrefix> seen;
  for (const RouteState& route : table.routes) {
    if (seen.insert(route.destination).second) continue;
    return fmt::format("{} with two routes to {}", table.name, to_string(route.destination));
  }
  return {};
}

class GuardedRouteTables final : public RouteTables {
 public:
  GuardedRouteTables(RouteTables& next, Guard& guard) : next_(next), guard_(guard) {}

  Task<Result<RouteTableState>> ensure(RouteTableSpec spec) override {
    const std::string name = spec.name;
    RouteTableState table = CO_TRY(co_await guard_.call(
        "route_table_ensure", guard_.limits().list_deadline, next_.ensure(std::move(spec))));
    co_return about(name, std::move(table));
  }
  Task<Result<RouteTableState>> get(std::string name) override {
    RouteTableState table = CO_TRY(
        co_await guard_.call("route_table_get", guard_.limits().list_deadline, next_.get(name)));
    co_return about(name, std::move(table));
  }
  Task<Result<>> release(std::string name) override {
    return guard_.call("route_table_release", guard_.limits().call_deadline,
                       next_.release(std::move(name)), Guard::Busy::one_thing);
  }

  // As the news of load balancers.
  Task<Result<>> follow(std::string name, Tell tell) override {
    Scope& here = co_await current_scope();
    Scope scope(here);
    std::optional<Error> wrong;
    const auto judged = [&](std::optional<RouteTableState> table) {
      if (wrong) return;
      if (table) {
        if (Result<RouteTableState> good = about(name, *table); !good) {
          wrong = std::move(good.error());
          return scope.cancel();
        }
      }
      tell(std::move(table));
    };
    Result<> end = co_await scope.run(next_.follow(name, judged));
    if (wrong) co_return std::unexpected(*std::move(wrong));
    co_return end;
  }

 private:
  static Result<RouteTableState> about(const std::string& name, RouteTableState table) {
    if (table.name != name) {
      return fail(Outcome::lost,
                  fmt::format("asked for {}, and was answered about {}", name, table.name));
    }
    if (std::string nonsense = nonsense_in(table); !nonsense.empty()) {
      return fail(Outcome::lost, "contradictory answer: " + nonsense);
    }
    return table;
  }

  RouteTables& next_;
  Guard& guard_;
};

class GuardedRoutes final : public Routes {
 public:
  GuardedRoutes(Routes& next, Guard& guard) : next_(next), guard_(guard) {}

  Task<Result<Listing<RouteState>>> list() override {
    return guard_.call("route_list", guard_.limits().list_deadline, next_.list());
  }
  Task<Result<>> ensure(Route route) override {
    return guard_.call("route_ensure", guard_.limits().call_deadline,
                       next_.ensure(std::move(route)));
  }
  Task<Result<>> release(RouteState route) override {
    return guard_.call("route_release", guard_.limits().call_deadline,
                       next_.release(std::move(route)));
  }

 private:
  Routes& next_;
  Guard& guard_;
};

class GuardedFirewalls final : public Firewalls {
 public:
  GuardedFirewalls(Firewalls& next, Guard& guard) : next_(next), guard_(guard) {}

  Task<Result<>> ensure(FirewallSpec spec) override {
    return guard_.call("firewall_ensure", guard_.limits().call_deadline,
                       next_.ensure(std::move(spec)));
  }
  Task<Result<>> release(std::string name) override {
    return guard_.call("firewall_release", guard_.limits().call_deadline,
                       next_.release(std::move(name)));
  }
  Task<Result<Listing<FirewallSpec>>> list() override {
    return guard_.call("firewall_list", guard_.limits().list_deadline, next_.list());
  }

 private:
  Firewalls& next_;
  Guard& guard_;
};

}  // namespace

struct GuardedProvider::Guarded {
  std::unique_ptr<Instances> instances;
  std::unique_ptr<LoadBalancers> load_balancers;
  std::unique_ptr<TargetSets> target_sets;
  std::unique_ptr<RouteTables> route_tables;
  std::unique_ptr<Routes> routes;
  std::unique_ptr<Firewalls> firewalls;
};

GuardedProvider::GuardedProvider(Provider& next, GuardLimits limits, Loop& loop, Metrics& metrics,
                                 Logger& log)
    : next_(next),
      guard_(next.name(), limits, loop, metrics, log),
      guarded_(std::make_unique<Guarded>()) {
  const Capabilities has = next.capabilities();
  if (has.instances) {
    guarded_->instances = std::make_unique<GuardedInstances>(*has.instances, guard_);
  }
  if (has.load_balancers) {
    guarded_->load_balancers = std::make_unique<GuardedLoadBalancers>(*has.load_balancers, guard_);
  }
  if (has.target_sets) {
    guarded_->target_sets = std::make_unique<GuardedTargetSets>(*has.target_sets, guard_);
  }
  if (has.route_tables) {
    guarded_->route_tables = std::make_unique<GuardedRouteTables>(*has.route_tables, guard_);
  }
  if (has.routes) guarded_->routes = std::make_unique<GuardedRoutes>(*has.routes, guard_);
  if (has.firewalls) {
    guarded_->firewalls = std::make_unique<GuardedFirewalls>(*has.firewalls, guard_);
  }
}

GuardedProvider::~GuardedProvider() = default;

Capabilities GuardedProvider::capabilities() {
  return {.instances = guarded_->instances.get(),
          .load_balancers = guarded_->load_balancers.get(),
          .target_sets = guarded_->target_sets.get(),
          .route_tables = guarded_->route_tables.get(),
          .routes = guarded_->routes.get(),
          .firewalls = guarded_->firewalls.get()};
}

Task<Result<>> GuardedProvider::check() {
  return guard_.call("check", guard_.limits().call_deadline, next_.check());
}

}  // namespace isthmus::cloud
