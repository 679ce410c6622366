#include "isthmus/cloud/dry_run_provider.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::cloud {
namespace {

// A cloud that can do everything, has nothing, and notes each call by its name.
struct Diary final : Provider {
  struct Machines final : Instances {
    explicit Machines(Diary& diary_) : diary(diary_) {}
    Task<Result<Instance>> get(ProviderId id) override {
      diary.note("machine get");
      co_return Instance{.provider_id = std::move(id)};
    }
    Task<Result<Listing<Instance>>> list(InstanceQuery) override {
      diary.note("machine list");
      co_return Listing<Instance>{};
    }
    Diary& diary;
  };
  struct Balancers final : LoadBalancers {
    explicit Balancers(Diary& diary_) : diary(diary_) {}
    Task<Result<LoadBalancerState>> ensure(LoadBalancerSpec) override {
      co_return diary.wrote("balancer ensure");
    }
    Task<Result<>> release(std::string) override { co_return diary.wrote("balancer release"); }
    Task<Result<LoadBalancerState>> get(std::string name) override {
      diary.note("balancer get");
      co_return LoadBalancerState{.name = std::move(name)};
    }
    Task<Result<Listing<LoadBalancerState>>> list() override {
      diary.note("balancer list");
      co_return Listing<LoadBalancerState>{};
    }
    Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec) override {
      diary.note("balancer preview");
      co_return LoadBalancerPreview{.effect = LoadBalancerPreview::Effect::changed};
    }
    Task<Result<>> follow(std::function<void(LoadBalancerNews)>) override {
      diary.note("balancer follow");
      co_return Result<>{};
    }
    Diary& diary;
  };
  struct Sets final : TargetSets {
    explicit Sets(Diary& diary_) : diary(diary_) {}
    Task<Result<>> ensure(TargetSetSpec) override { co_return diary.wrote("set ensure"); }
    Task<Result<>> release(std::string) override { co_return diary.wrote("set release"); }
    Task<Result<TargetSetPreview>> preview(TargetSetSpec) override {
      diary.note("set preview");
      co_return TargetSetPreview{.effect = LoadBalancerPreview::Effect::changed};
    }
    Diary& diary;
  };
  struct Tables final : RouteTables {
    explicit Tables(Diary& diary_) : diary(diary_) {}
    Task<Result<RouteTableState>> ensure(RouteTableSpec) override {
      co_return diary.wrote("table ensure");
    }
    Task<Result<RouteTableState>> get(std::string name) override {
      diary.note("table get");
      co_return RouteTableState{.name = std::move(name)};
    }
    Task<Result<>> release(std::string) override { co_return diary.wrote("table release"); }
    Task<Result<>> follow(std::string, Tell) override {
      diary.note("table follow");
      co_return Result<>{};
    }
    Diary& diary;
  };
  struct SingleRoutes final : Routes {
    explicit SingleRoutes(Diary& diary_) : diary(diary_) {}
    Task<Result<Listing<RouteState>>> list() override {
      diary.note("route list");
      co_return Listing<RouteState>{{RouteState{}}, Completeness::complete};
    }
    Task<Result<>> ensure(Route) override { co_return diary.wrote("route ensure"); }
    Task<Result<>> release(RouteState) override { co_return diary.wrote("route release"); }
    Diary& diary;
  };
  struct Filters final : Firewalls {
    explicit Filters(Diary& diary_) : diary(diary_) {}
    Task<Result<>> ensure(FirewallSpec) override { co_return diary.wrote("firewall ensure"); }
    Task<Result<>> release(std::string) override { co_return diary.wrote("firewall release"); }
    Task<Result<Listing<FirewallSpec>>> list() override {
      diary.note("firewall list");
      co_return Listing<FirewallSpec>{{FirewallSpec{.name = "old"}}, Completeness::complete};
    }
    Diary& diary;
  };

  Diary(std::vector<std::string>& read_, std::vector<std::string>& written_)
      : read(read_), written(written_) {}

  const std::string& name() const override { return word; }
  const std::string& scheme() const override { return word; }
  Capabilities capabilities() override {
    return {.instances = &machines,
            .load_balancers = &balancers,
            .target_sets = &sets,
            .route_tables = &tables,
            .routes = &routes,
            .firewalls = &filters};
  }
  Task<Result<>> check() override {
    note("check");
    co_return Result<>{};
  }
  void note(std::string call) { read.push_back(std::move(call)); }
  std::unexpected<Error> wrote(std::string call) {
    written.push_back(std::move(call));
    return fail(Outcome::lost, "a dry run has written");
  }

  std::string word = "diary";
  std::vector<std::string>& read;
  std::vector<std::string>& written;
  Machines machines{*this};
  Balancers balancers{*this};
  Sets sets{*this};
  Tables tables{*this};
  SingleRoutes routes{*this};
  Filters filters{*this};
};

struct dry_run_provider : testing::Test {
  VirtualWorld world;
  MemoryLogger log;
  std::vector<std::string> read;
  std::vector<std::string> written;
  DryRunProvider dry{std::make_unique<Diary>(read, written), log};
};

// One call of every verb of every capability: a capability or a verb that is added to the contract
// does not compile here, or in what is tested, until it is dealt with.
TEST_F(dry_run_provider, lets_no_verb_of_any_capability_write) {
  const auto [machines, balancers, sets, tables, routes, firewalls] = dry.capabilities();
  EXPECT_TRUE(world.run(dry.check()));
  EXPECT_TRUE(world.run(machines->get({"diary", "m1"})));
  EXPECT_TRUE(world.run(machines->list({})));

  EXPECT_TRUE(world.run(balancers->ensure({.name = "b"})));
  EXPECT_TRUE(world.run(balancers->release("b")));
  EXPECT_EQ(world.run(balancers->get("b")).outcome(), Outcome::absent) << "as if it was released";
  EXPECT_TRUE(world.run(balancers->list()));
  EXPECT_TRUE(world.run(balancers->preview({.name = "b"})));
  EXPECT_TRUE(world.run(balancers->follow([](const LoadBalancerNews&) {})));

  EXPECT_TRUE(world.run(sets->ensure({.name = "s"})));
  EXPECT_TRUE(world.run(sets->release("s")));
  EXPECT_TRUE(world.run(sets->preview({.name = "s"})));

  const Route route{.destination = parse_prefix("10.244.0.0/24").value(),
                    .instance = ProviderId{"diary", "m1"}};
  EXPECT_TRUE(world.run(tables->ensure({.name = "t", .routes = {route}})));
  EXPECT_TRUE(world.run(tables->release("t")));
  EXPECT_EQ(world.run(tables->get("t")).outcome(), Outcome::absent);
  EXPECT_TRUE(world.run(tables->follow("t", [](const std::optional<RouteTableState>&) {})));

  EXPECT_TRUE(world.run(routes->ensure(route)));
  EXPECT_TRUE(world.run(routes->release({.destination = route.destination})));
  EXPECT_TRUE(world.run(routes->list()));

  EXPECT_TRUE(world.run(firewalls->ensure({.name = "f"})));
  EXPECT_TRUE(world.run(firewalls->release("old")));
  EXPECT_TRUE(world.run(firewalls->list()));

  EXPECT_EQ(written, std::vector<std::string>{});
  EXPECT_FALSE(read.empty());
}

TEST_F(dry_run_provider, is_the_provider_it_stands_for) {
  EXPECT_EQ(dry.name(), "diary");
  EXPECT_EQ(dry.scheme(), "diary");
}

// What a cloud cannot do is not offered by a dry run of it either.
struct Bare final : Provider {
  const std::string& name() const override { return word; }
  const std::string& scheme() const override { return word; }
  Capabilities capabilities() override { return {}; }
  Task<Result<>> check() override { co_return fail(Outcome::denied, "no"); }
  std::string word = "bare";
};

TEST(dry_run_of_little, offers_no_more_than_the_cloud) {
  VirtualWorld world;
  NullLogger log;
  DryRunProvider dry(std::make_unique<Bare>(), log);
  const auto [machines, balancers, sets, tables, routes, firewalls] = dry.capabilities();
  EXPECT_FALSE(machines || balancers || sets || tables || routes || firewalls);
  EXPECT_EQ(world.run(dry.check()).outcome(), Outcome::denied);
}

TEST_F(dry_run_provider, tells_of_a_firewall_once_and_shows_it) {
  Firewalls& firewalls = *dry.capabilities().firewalls;
  const FirewallSpec wish{.name = "new", .rules = {{.first_port = 80, .last_port = 80}}};
  EXPECT_TRUE(world.run(firewalls.ensure(wish)));
  EXPECT_TRUE(world.run(firewalls.ensure(wish)));
  EXPECT_TRUE(world.run(firewalls.ensure({.name = "old"}))) << "stands already";
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].text, R"("would create firewall" name="new" rules=1 machines=0)");
  EXPECT_EQ(world.run(firewalls.list())->items, (std::vector<FirewallSpec>{{.name = "old"}, wish}));
  EXPECT_TRUE(world.run(firewalls.release("old")));
  EXPECT_TRUE(world.run(firewalls.release("never")));
  EXPECT_EQ(world.run(firewalls.list())->items, std::vector{wish});
  EXPECT_EQ(log.lines.size(), 2U);
}

}  // namespace
}  // namespace isthmus::cloud
