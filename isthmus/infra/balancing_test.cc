#include "isthmus/infra/balancing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/infra/ledger_upkeep.h"
#include "isthmus/infra/reconciler_testing.h"

namespace isthmus::infra::testing {
namespace {

using ::testing::HasSubstr;

class BalancingTest : public ::testing::Test {
 protected:
  HostDoors doors() {
    return {prober, 16, [this]() -> Result<std::unique_ptr<Host>> {
              return std::make_unique<FakeHost>(kernel);
            }};
  }
  Config config(HostConfig::Driver driver = HostConfig::Driver::nft) {
    Config made;
    made.host = HostConfig{.name = "lb1", .driver = driver};
    made.pools = {public_pool()};
    return made;
  }
  Result<std::unique_ptr<Host>> open(const Config& from) {
    return open_checked_host(from, files, doors());
  }

  VirtualWorld world;
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
  FakeKernel kernel;
  FakeProber prober;
  MemoryFiles files;
  MemoryLogger log;
  Metrics metrics;
  SeededRandom random{1};
};

TEST_F(BalancingTest, what_is_put_is_held_by_the_host_and_what_is_deleted_is_forgotten) {
  Balancing balancing(*config().host, {*store, world.loop, random, metrics, log}, doors(),
                      std::make_unique<FakeHost>(kernel));
  ASSERT_TRUE(world.run(balancing.start()));
  ASSERT_TRUE(world.run(balancing.load_pools(config().pools)));
  Scope scope(world.loop);
  scope.spawn(&Balancing::run, &balancing);

  ASSERT_TRUE(world.run(balancing.ledger().put(a_balancer(), {}, nullptr, false)));
  world.advance(1s);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_TRUE(balancing.is_ready());
  EXPECT_EQ(balancing.view().target_health(kWeb).size(), 2u);

  ASSERT_TRUE(world.run(balancing.ledger().remove(kWeb, {}, false)));
  world.advance(public_pool().cool_down + 3 * kForgetPeriod + 1s);
  EXPECT_FALSE(kernel.has(kVip));
  EXPECT_EQ(world.run(balancing.ledger().latest()).value()->address(kVip), nullptr);
  scope.cancel();
  world.settle();
}

TEST_F(BalancingTest, that_an_address_has_cooled_down_is_told_when_it_is_so) {
  Balancing balancing(*config().host, {*store, world.loop, random, metrics, log}, doors(),
                      std::make_unique<FakeHost>(kernel));
  ASSERT_TRUE(world.run(balancing.start()));
  std::vector<api::Pool> pools = config().pools;
  pools.front().cool_down = 3s;
  ASSERT_TRUE(world.run(balancing.load_pools(pools)));
  Scope scope(world.loop);
  scope.spawn(&Balancing::run, &balancing);
  ASSERT_TRUE(world.run(balancing.ledger().put(a_balancer(), {}, nullptr, false)));
  world.advance(1s);
  auto may_have_it_back = [&] {
    Ledger::Snapshot snapshot = world.run(balancing.ledger().latest()).value();
    const AddressRecord* record = snapshot->address(kVip);
    return record == nullptr ? "nobody, and it is forgotten" : record->last_holder;
  };
  ASSERT_TRUE(world.run(balancing.ledger().remove(kWeb, {}, false)));
  world.advance(1s);
  EXPECT_EQ(may_have_it_back(), "web");
  world.advance(4s);
  EXPECT_EQ(may_have_it_back(), "");
  scope.cancel();
  world.settle();
}

TEST_F(BalancingTest, chains_of_others_that_drop_are_told_when_they_come) {
  Balancing balancing(*config().host, {*store, world.loop, random, metrics, log}, doors(),
                      std::make_unique<FakeHost>(kernel));
  ASSERT_TRUE(world.run(balancing.start()));
  Scope scope(world.loop);
  scope.spawn(&Balancing::run, &balancing);
  world.advance(1s);
  EXPECT_TRUE(balancing.dropping_chains().empty());
  kernel.dropping_chains = {"ip filter FORWARD"};
  world.advance(kHostDumpPeriod);
  EXPECT_EQ(balancing.dropping_chains(), kernel.dropping_chains);
  EXPECT_TRUE(log.mentions("ip filter FORWARD"));
  kernel.dropping_chains.clear();
  world.advance(kHostDumpPeriod);
  EXPECT_TRUE(balancing.dropping_chains().empty());
  scope.cancel();
  world.settle();
}

TEST_F(BalancingTest, a_pool_over_addresses_of_targets_is_told) {
  Balancing balancing(*config().host, {*store, world.loop, random, metrics, log}, doors(),
                      std::make_unique<FakeHost>(kernel));
  ASSERT_TRUE(world.run(balancing.start()));
  std::vector<api::Pool> pools = config().pools;
  ASSERT_TRUE(world.run(balancing.load_pools(pools)));
  ASSERT_TRUE(world.run(balancing.ledger().put(a_balancer(), {}, nullptr, false)));
  EXPECT_FALSE(log.mentions("a pool covers"));
  pools.push_back({.name = "wide", .ranges = {parse_prefix("10.1.0.0/24").value()}});
  ASSERT_TRUE(world.run(balancing.load_pools(pools)));
  EXPECT_TRUE(log.mentions("pool=\"wide\""));
  EXPECT_TRUE(log.mentions("addresses=2"));
}

TEST_F(BalancingTest, a_host_that_does_not_forward_is_refused_with_what_to_run) {
  ASSERT_TRUE(files.write("/proc/sys/net/ipv4/ip_forward", "0\n", FileMode::world_readable));
  Result<std::unique_ptr<Host>> refused = open(config());
  EXPECT_EQ(refused.outcome(), Outcome::invalid);
  EXPECT_THAT(refused.error().message, HasSubstr("sysctl -w net.ipv4.ip_forward=1"));

  EXPECT_TRUE(open(config(HostConfig::Driver::announce))) << "kube-proxy sees to that";
  ASSERT_TRUE(files.write("/proc/sys/net/ipv4/ip_forward", "1\n", FileMode::world_readable));
  EXPECT_TRUE(open(config()));
}

TEST_F(BalancingTest, forwarding_is_asked_of_the_families_of_the_pools) {
  ASSERT_TRUE(files.write("/proc/sys/net/ipv4/ip_forward", "1\n", FileMode::world_readable));
  ASSERT_TRUE(
      files.write("/proc/sys/net/ipv6/conf/all/forwarding", "0\n", FileMode::world_readable));
  Config both = config();
  EXPECT_TRUE(open(both));
  both.pools.front().ranges.push_back(parse_prefix("2001:db8::/120").value());
  EXPECT_THAT(open(both).error().message, HasSubstr("net.ipv6.conf.all.forwarding"));
}

}  // namespace
}  // namespace isthmus::infra::testing
