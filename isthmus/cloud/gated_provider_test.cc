#include "isthmus/cloud/gated_provider.h"

#include <chrono>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;

// A cloud that can do everything, and only notes whether it was asked to change something.
struct Noted final : Provider {
  struct Balancers final : LoadBalancers {
    explicit Balancers(Noted& noted) : to(noted) {}
    Task<Result<LoadBalancerState>> ensure(LoadBalancerSpec) override {
      return to.write(LoadBalancerState{});
    }
    Task<Result<>> release(std::string) override { return to.write(); }
    Task<Result<LoadBalancerState>> get(std::string) override {
      return to.read(LoadBalancerState{});
    }
    Task<Result<Listing<LoadBalancerState>>> list() override {
      return to.read(Listing<LoadBalancerState>{});
    }
    Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec) override {
      return to.read(LoadBalancerPreview{});
    }
    Task<Result<>> follow(std::function<void(LoadBalancerNews)>) override { return to.read(); }
    Noted& to;
  };
  struct Sets final : TargetSets {
    explicit Sets(Noted& noted) : to(noted) {}
    Task<Result<>> ensure(TargetSetSpec) override { return to.write(); }
    Task<Result<>> release(std::string) override { return to.write(); }
    Task<Result<TargetSetPreview>> preview(TargetSetSpec) override {
      return to.read(TargetSetPreview{});
    }
    Noted& to;
  };
  struct Tables final : RouteTables {
    explicit Tables(Noted& noted) : to(noted) {}
    Task<Result<RouteTableState>> ensure(RouteTableSpec) override {
      return to.write(RouteTableState{});
    }
    Task<Result<RouteTableState>> get(std::string) override { return to.read(RouteTableState{}); }
    Task<Result<>> release(std::string) override { return to.write(); }
    Task<Result<>> follow(std::string, Tell) override { return to.read(); }
    Noted& to;
  };
  struct Ways final : Routes {
    explicit Ways(Noted& noted) : to(noted) {}
    Task<Result<Listing<RouteState>>> list() override { return to.read(Listing<RouteState>{}); }
    Task<Result<>> ensure(Route) override { return to.write(); }
    Task<Result<>> release(RouteState) override { return to.write(); }
    Noted& to;
  };
  struct Walls final : Firewalls {
    explicit Walls(Noted& noted) : to(noted) {}
    Task<Result<>> ensure(FirewallSpec) override { return to.write(); }
    Task<Result<>> release(std::string) override { return to.write(); }
    Task<Result<Listing<FirewallSpec>>> list() override { return to.read(Listing<FirewallSpec>{}); }
    Noted& to;
  };

  const std::string& name() const override { return word; }
  const std::string& scheme() const override { return word; }
  Capabilities capabilities() override {
    if (!can) return {};
    return {.load_balancers = &balancers,
            .target_sets = &sets,
            .route_tables = &tables,
            .routes = &ways,
            .firewalls = &walls};
  }
  Task<Result<>> check() override { return read(); }

  template <class T>
  Task<Result<T>> write(T answer) {
    ++writes;
    CO_TRY(co_await sleep_for(1s));
    co_return answer;
  }
  Task<Result<>> write() {
    CO_TRY(co_await write(0));
    co_return Result<>{};
  }
  template <class T>
  Task<Result<T>> read(T answer) {
    ++reads;
    co_return answer;
  }
  Task<Result<>> read() {
    ++reads;
    co_return Result<>{};
  }

  std::string word = "noted";
  bool can = true;
  int writes = 0;
  int reads = 0;
  Balancers balancers{*this};
  Sets sets{*this};
  Tables tables{*this};
  Ways ways{*this};
  Walls walls{*this};
};

class GatedProviderTest : public ::testing::Test {
 protected:
  // Everything that changes something; whether all of it, or none, was done.
  std::vector<Outcome> change_everything() {
    const Capabilities can = gated.capabilities();
    return {world.run(can.load_balancers->ensure({})).outcome(),
            world.run(can.load_balancers->release("lb")).outcome(),
            world.run(can.target_sets->ensure({})).outcome(),
            world.run(can.target_sets->release("set")).outcome(),
            world.run(can.route_tables->ensure({})).outcome(),
            world.run(can.route_tables->release("table")).outcome(),
            world.run(can.routes->ensure({})).outcome(),
            world.run(can.routes->release({})).outcome(),
            world.run(can.firewalls->ensure({})).outcome(),
            world.run(can.firewalls->release("wall")).outcome()};
  }

  VirtualWorld world;
  Metrics metrics;
  WriteGate gate{metrics};
  Noted cloud;
  GatedProvider gated{cloud, gate};
};

TEST_F(GatedProviderTest, sends_no_change_while_the_gate_is_shut) {
  EXPECT_EQ(change_everything(), std::vector<Outcome>(10, Outcome::cancelled));
  EXPECT_EQ(cloud.writes, 0);
}

TEST_F(GatedProviderTest, sends_every_change_while_it_is_open) {
  gate.add_rule("always", [] { return Result<Moment>(Moment::max()); });
  EXPECT_EQ(change_everything(), std::vector<Outcome>(10, Outcome::ok));
  EXPECT_EQ(cloud.writes, 10);
}

TEST_F(GatedProviderTest, gives_a_change_no_more_time_than_the_gate) {
  gate.add_rule("half", [this] { return Result<Moment>(world.loop.now() + 500ms); });
  EXPECT_EQ(change_everything(), std::vector<Outcome>(10, Outcome::deadline));
}

TEST_F(GatedProviderTest, asks_and_follows_whatever_the_gate_says) {
  const Capabilities can = gated.capabilities();
  EXPECT_TRUE(world.run(gated.check()));
  EXPECT_TRUE(world.run(can.load_balancers->get("lb")));
  EXPECT_TRUE(world.run(can.load_balancers->list()));
  EXPECT_TRUE(world.run(can.load_balancers->preview({})));
  EXPECT_TRUE(world.run(can.load_balancers->follow({})));
  EXPECT_TRUE(world.run(can.target_sets->preview({})));
  EXPECT_TRUE(world.run(can.route_tables->get("table")));
  EXPECT_TRUE(world.run(can.route_tables->follow("table", {})));
  EXPECT_TRUE(world.run(can.routes->list()));
  EXPECT_TRUE(world.run(can.firewalls->list()));
  EXPECT_EQ(cloud.reads, 10);
}

TEST_F(GatedProviderTest, offers_nothing_that_the_provider_does_not) {
  Noted poor;
  poor.can = false;
  GatedProvider wrapped(poor, gate);
  const Capabilities can = wrapped.capabilities();
  EXPECT_FALSE(can.instances || can.load_balancers || can.target_sets || can.route_tables ||
               can.routes || can.firewalls);
}

}  // namespace
}  // namespace isthmus::cloud
