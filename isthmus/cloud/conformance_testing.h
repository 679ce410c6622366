// A cloud in memory with a bug planted, for the tests of the conformance test: each verb may be
// replaced by one that is wrong, the others are those of providers/fake.
#pragma once

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/cloud/conformance.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::cloud {

using providers::fake::FakeProvider;
using Balancer = LoadBalancerState;
using Machines = Listing<Instance>;
using Balancers = Listing<LoadBalancerState>;
using Tell = std::function<void(LoadBalancerNews)>;

// What is wrong: plain functions of the cloud and the arguments. nullptr: nothing.
struct Mutant {
  std::string name;
  std::string caught_by = {};  // The step that must fail.
  void (*set_up)(FakeProvider&) = nullptr;
  Task<Result<Balancer>> (*ensure)(FakeProvider&, LoadBalancerSpec) = nullptr;
  Task<Result<>> (*release)(FakeProvider&, std::string) = nullptr;
  Task<Result<Balancer>> (*get)(FakeProvider&, std::string) = nullptr;
  Task<Result<Balancers>> (*list)(FakeProvider&) = nullptr;
  Task<Result<LoadBalancerPreview>> (*preview)(FakeProvider&, LoadBalancerSpec) = nullptr;
  Task<Result<>> (*follow)(FakeProvider&, Tell) = nullptr;
  Task<Result<>> (*ensure_set)(FakeProvider&, TargetSetSpec) = nullptr;
  Task<Result<>> (*release_set)(FakeProvider&, std::string) = nullptr;
  Task<Result<TargetSetPreview>> (*preview_set)(FakeProvider&, TargetSetSpec) = nullptr;
  Task<Result<RouteTableState>> (*ensure_table)(FakeProvider&, RouteTableSpec) = nullptr;
  Task<Result<RouteTableState>> (*get_table)(FakeProvider&, std::string) = nullptr;
  Task<Result<>> (*release_table)(FakeProvider&, std::string) = nullptr;
  Task<Result<>> (*follow_table)(FakeProvider&, std::string, RouteTables::Tell) = nullptr;
  Task<Result<Listing<RouteState>>> (*list_routes)(FakeProvider&) = nullptr;
  Task<Result<>> (*ensure_route)(FakeProvider&, Route) = nullptr;
  Task<Result<>> (*release_route)(FakeProvider&, RouteState) = nullptr;
  Task<Result<Instance>> (*get_machine)(FakeProvider&, ProviderId) = nullptr;
  Task<Result<Machines>> (*list_machines)(FakeProvider&, InstanceQuery) = nullptr;
  Task<Result<>> (*check)(FakeProvider&) = nullptr;
};

class MutantProvider final : public Provider {
 public:
  MutantProvider(FakeProvider& cloud, Mutant mutant) : cloud_(cloud), mutant_(std::move(mutant)) {
    if (mutant_.set_up) mutant_.set_up(cloud_);
  }

  const std::string& name() const override { return cloud_.name(); }
  const std::string& scheme() const override { return cloud_.scheme(); }
  Capabilities capabilities() override {
    const Capabilities has = cloud_.capabilities();
    return {.instances = has.instances ? &machines_ : nullptr,
            .load_balancers = has.load_balancers ? &balancers_ : nullptr,
            .target_sets = has.target_sets ? &sets_ : nullptr,
            .route_tables = has.route_tables ? &tables_ : nullptr,
            .routes = has.routes ? &routes_ : nullptr};
  }
  Task<Result<>> check() override { return mutant_.check ? mutant_.check(cloud_) : cloud_.check(); }

 private:
  struct MachineDoor final : Instances {
    explicit MachineDoor(MutantProvider& owner) : self(owner) {}
    Task<Result<Instance>> get(ProviderId id) override {
      if (self.mutant_.get_machine) return self.mutant_.get_machine(self.cloud_, std::move(id));
      return self.cloud_.capabilities().instances->get(std::move(id));
    }
    Task<Result<Listing<Instance>>> list(InstanceQuery query) override {
      if (self.mutant_.list_machines) {
        return self.mutant_.list_machines(self.cloud_, std::move(query));
      }
      return self.cloud_.capabilities().instances->list(std::move(query));
    }
    MutantProvider& self;
  };

  struct BalancerDoor final : LoadBalancers {
    explicit BalancerDoor(MutantProvider& owner) : self(owner), next(owner.cloud_.load_balancers) {}
    Task<Result<Balancer>> ensure(LoadBalancerSpec spec) override {
      const auto wrong = self.mutant_.ensure;
      return wrong ? wrong(self.cloud_, std::move(spec)) : next.ensure(std::move(spec));
    }
    Task<Result<>> release(std::string name) override {
      const auto wrong = self.mutant_.release;
      return wrong ? wrong(self.cloud_, std::move(name)) : next.release(std::move(name));
    }
    Task<Result<Balancer>> get(std::string name) override {
      const auto wrong = self.mutant_.get;
      return wrong ? wrong(self.cloud_, std::move(name)) : next.get(std::move(name));
    }
    Task<Result<Listing<Balancer>>> list() override {
      return self.mutant_.list ? self.mutant_.list(self.cloud_) : next.list();
    }
    Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec spec) override {
      const auto wrong = self.mutant_.preview;
      return wrong ? wrong(self.cloud_, std::move(spec)) : next.preview(std::move(spec));
    }
    Task<Result<>> follow(Tell tell) override {
      const auto wrong = self.mutant_.follow;
      return wrong ? wrong(self.cloud_, std::move(tell)) : next.follow(std::move(tell));
    }
    MutantProvider& self;
    LoadBalancers& next;
  };

  struct SetDoor final : TargetSets {
    explicit SetDoor(MutantProvider& owner) : self(owner) {}
    Task<Result<>> ensure(TargetSetSpec spec) override {
      if (self.mutant_.ensure_set) return self.mutant_.ensure_set(self.cloud_, std::move(spec));
      return self.cloud_.target_sets.ensure(std::move(spec));
    }
    Task<Result<>> release(std::string name) override {
      if (self.mutant_.release_set) return self.mutant_.release_set(self.cloud_, std::move(name));
      return self.cloud_.target_sets.release(std::move(name));
    }
    Task<Result<TargetSetPreview>> preview(TargetSetSpec spec) override {
      if (self.mutant_.preview_set) return self.mutant_.preview_set(self.cloud_, std::move(spec));
      return self.cloud_.target_sets.preview(std::move(spec));
    }
    MutantProvider& self;
  };

  struct TableDoor final : RouteTables {
    explicit TableDoor(MutantProvider& owner) : self(owner), next(owner.cloud_.route_tables) {}
    Task<Result<RouteTableState>> ensure(RouteTableSpec spec) override {
      const auto wrong = self.mutant_.ensure_table;
      return wrong ? wrong(self.cloud_, std::move(spec)) : next.ensure(std::move(spec));
    }
    Task<Result<RouteTableState>> get(std::string name) override {
      const auto wrong = self.mutant_.get_table;
      return wrong ? wrong(self.cloud_, std::move(name)) : next.get(std::move(name));
    }
    Task<Result<>> release(std::string name) override {
      const auto wrong = self.mutant_.release_table;
      return wrong ? wrong(self.cloud_, std::move(name)) : next.release(std::move(name));
    }
    Task<Result<>> follow(std::string name, RouteTables::Tell tell) override {
      const auto wrong = self.mutant_.follow_table;
      return wrong ? wrong(self.cloud_, std::move(name), std::move(tell))
                   : next.follow(std::move(name), std::move(tell));
    }
    MutantProvider& self;
    RouteTables& next;
  };

  struct RouteDoor final : Routes {
    explicit RouteDoor(MutantProvider& owner) : self(owner), next(owner.cloud_.routes) {}
    Task<Result<Listing<RouteState>>> list() override {
      return self.mutant_.list_routes ? self.mutant_.list_routes(self.cloud_) : next.list();
    }
    Task<Result<>> ensure(Route route) override {
      const auto wrong = self.mutant_.ensure_route;
      return wrong ? wrong(self.cloud_, std::move(route)) : next.ensure(std::move(route));
    }
    Task<Result<>> release(RouteState route) override {
      const auto wrong = self.mutant_.release_route;
      return wrong ? wrong(self.cloud_, std::move(route)) : next.release(std::move(route));
    }
    MutantProvider& self;
    Routes& next;
  };

  FakeProvider& cloud_;
  const Mutant mutant_;
  MachineDoor machines_{*this};
  BalancerDoor balancers_{*this};
  SetDoor sets_{*this};
  TableDoor tables_{*this};
  RouteDoor routes_{*this};
};

// A world with a cloud that takes its time, and machines in it.
struct ConformanceWorld {
  ConformanceWorld() {
    cloud.add("1", "node1");
    cloud.add("2", "node2");
    cloud.load_balancers.settle_after = std::chrono::seconds(1);
    cloud.load_balancers.release_takes = std::chrono::seconds(1);
    cloud.route_tables.apply_after = std::chrono::seconds(1);
    cloud.has_routes = true;
  }

  ConformanceReport run(Provider& provider, ConformanceOptions options = {},
                        Provider* stranger = nullptr) {
    return world.run(run_conformance({.provider = provider, .stranger = stranger, .random = random},
                                     std::move(options), Uncancellable(outliving)));
  }

  static const ConformanceStep& step(const ConformanceReport& report, std::string_view name) {
    for (const ConformanceStep& one : report.steps) {
      if (one.name == name) return one;
    }
    ISTHMUS_ASSERT(false, "there is no such step");
  }

  // The cloud with that bug fails at the step that is there to see it, with a reason and what to
  // do.
  void expect_caught(const Mutant& mutant) {
    MutantProvider provider(cloud, mutant);
    const ConformanceReport report = run(provider);
    const ConformanceStep& caught = step(report, mutant.caught_by);
    EXPECT_EQ(caught.verdict, ConformanceStep::Verdict::failed);
    EXPECT_FALSE(caught.reason.empty());
    EXPECT_FALSE(caught.next_step.empty());
    EXPECT_FALSE(report.passed());
  }

  VirtualWorld world;
  Scope outliving{world.loop};
  SeededRandom random{7};
  FakeProvider cloud;
};

inline std::string mutant_name(const testing::TestParamInfo<Mutant>& info) {
  return info.param.name;
}

}  // namespace isthmus::cloud
