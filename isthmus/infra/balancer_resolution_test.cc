#include "isthmus/infra/balancer_resolution.h"

#include <gtest/gtest.h>

#include "isthmus/infra/kernel_testing.h"

namespace isthmus::infra {
namespace {

using testing::ip;

const IpAddress kV4 = ip("192.0.2.1");
const IpAddress kV6 = ip("2001:db8::1");

// A load balancer "prod/web" of two inline targets that are checked, in a ledger of its own.
struct Scene {
  Scene() {
    record.metadata.owner = "prod";
    record.metadata.name = "web";
    record.metadata.generation = 7;
    record.addresses = {kV4};
    record.spec.listeners = {{"http", api::Protocol::tcp, 80, "machines"},
                             {"dns", api::Protocol::udp, 53, "names"}};
    record.spec.target_groups.resize(2);
    record.spec.target_groups[0].name = "names";
    record.spec.target_groups[0].targets = {{ip("10.0.0.9"), 53}};
    record.spec.target_groups[1].name = "machines";
    record.spec.target_groups[1].targets = {{ip("10.0.0.1"), 8080}, {ip("10.0.0.2"), 8080}};
    record.spec.target_groups[1].health_check = api::HealthCheck{};
    for (const IpAddress& address : {kV4, kV6}) {
      AddressRecord held;
      held.address = address;
      held.pool = "public";
      held.host = "lb1";
      snapshot.addresses[address] = std::make_shared<const AddressRecord>(held);
    }
    PoolRecord pool;
    pool.pool.name = "public";
    pool.pool.interface = "eth7";
    pool.pool.source_address = api::SourceAddress::keep;
    snapshot.pools["public"] = std::make_shared<const PoolRecord>(pool);
  }

  Resolution resolved() {
    return resolve(snapshot, record, host, [this](const Check& check) {
      auto found = verdicts.find(check.address);
      return found == verdicts.end() ? Verdict{} : Verdict{found->second, "it is down"};
    });
  }
  void use_set(std::vector<api::SetTarget> targets) {
    TargetSetRecord set;
    set.set.targets = std::move(targets);
    snapshot.target_sets[{"prod", "nodes"}] = std::make_shared<const TargetSetRecord>(set);
    api::TargetGroup& group = record.spec.target_groups[1];
    group.targets.clear();
    group.target_set = "nodes";
    group.port = 30080;
  }

  LedgerSnapshot snapshot;
  BalancerRecord record;
  HostRole host{.name = "lb1"};
  std::map<IpAddress, api::Health> verdicts;
};

std::vector<bool> usable(const std::vector<drivers::Target>& targets) {
  std::vector<bool> result;
  for (const drivers::Target& target : targets) result.push_back(target.usable);
  return result;
}

TEST(balancer_resolution, says_in_the_drivers_words_what_was_said) {
  Scene scene;
  const Resolution resolution = scene.resolved();
  EXPECT_EQ(resolution.balancer.note, "prod/web 7");
  ASSERT_EQ(resolution.balancer.listeners.size(), 2);
  EXPECT_EQ(resolution.balancer.listeners[0].group, 1);
  EXPECT_EQ(resolution.balancer.listeners[1].protocol, drivers::Protocol::udp);
  EXPECT_EQ(resolution.balancer.source_address, drivers::SourceAddress::keep);
  EXPECT_EQ(resolution.addresses[0].interface, "eth7");
  EXPECT_FALSE(resolution.balancer.announce_only);
}

TEST(balancer_resolution, what_the_writer_said_of_the_source_wins_over_the_pool) {
  Scene scene;
  scene.record.spec.source_address = api::SourceAddress::masquerade;
  EXPECT_EQ(scene.resolved().balancer.source_address, drivers::SourceAddress::masquerade);
}

TEST(balancer_resolution, a_check_without_a_port_asks_the_targets_own) {
  Scene scene;
  const std::vector<Check> checks = scene.resolved().checks();
  ASSERT_EQ(checks.size(), 2);
  EXPECT_EQ(checks[0].how.port, 8080);
  scene.record.spec.target_groups[1].health_check->port = 9000;
  EXPECT_EQ(scene.resolved().checks()[0].how.port, 9000);
}

TEST(balancer_resolution, unhealthy_ones_are_not_usable_and_unknown_ones_are) {
  Scene scene;
  scene.verdicts = {{ip("10.0.0.1"), api::Health::unhealthy}};
  const Resolution resolution = scene.resolved();
  EXPECT_EQ(usable(resolution.balancer.groups[1]), (std::vector{false, true}));
  EXPECT_FALSE(resolution.all_kept);
}

TEST(balancer_resolution, where_all_are_unhealthy_all_are_kept) {
  Scene scene;
  scene.verdicts = {{ip("10.0.0.1"), api::Health::unhealthy},
                    {ip("10.0.0.2"), api::Health::unhealthy}};
  const Resolution resolution = scene.resolved();
  EXPECT_EQ(usable(resolution.balancer.groups[1]), (std::vector{true, true}));
  EXPECT_TRUE(resolution.all_kept);
}

TEST(balancer_resolution, the_healthy_ones_of_one_family_do_not_stand_for_the_other) {
  Scene scene;
  scene.record.addresses = {kV4, kV6};
  scene.use_set({{.name = "n1", .addresses = {ip("10.0.0.1"), ip("fd00::1")}},
                 {.name = "n2", .addresses = {ip("10.0.0.2"), ip("fd00::2")}}});
  scene.verdicts = {{ip("fd00::1"), api::Health::unhealthy},
                    {ip("fd00::2"), api::Health::unhealthy},
                    {ip("10.0.0.1"), api::Health::unhealthy}};
  EXPECT_EQ(usable(scene.resolved().balancer.groups[1]), (std::vector{false, true, true, true}));
}

TEST(balancer_resolution, those_that_drain_or_have_no_weight_do_not_count_as_usable) {
  Scene scene;
  scene.record.spec.target_groups[1].targets[1].drain = true;
  scene.verdicts = {{ip("10.0.0.1"), api::Health::unhealthy}};
  EXPECT_EQ(usable(scene.resolved().balancer.groups[1]), (std::vector{true, true}));
}

TEST(balancer_resolution, a_target_set_gives_the_addresses_that_can_be_served) {
  Scene scene;
  scene.use_set({{.name = "n1", .addresses = {ip("10.0.0.1"), ip("fd00::1")}, .weight = 3}});
  const Resolution resolution = scene.resolved();
  ASSERT_EQ(resolution.balancer.groups[1].size(), 1);
  EXPECT_EQ(resolution.balancer.groups[1][0].endpoint, (Endpoint{ip("10.0.0.1"), 30080}));
  EXPECT_EQ(resolution.balancer.groups[1][0].weight, 3);
  EXPECT_EQ(resolution.targets[1].name, "n1");
}

TEST(balancer_resolution, a_target_set_that_is_not_there_is_named) {
  Scene scene;
  scene.use_set({});
  scene.record.spec.target_groups[1].target_set = "machines";
  EXPECT_EQ(scene.resolved().missing_sets, std::vector<std::string>{"machines"});
}

TEST(balancer_resolution, an_address_of_another_host_is_named_with_it) {
  Scene scene;
  scene.host.name = "lb2";
  EXPECT_EQ(scene.resolved().other_host, "lb1");
}

TEST(balancer_resolution, a_host_that_announces_checks_nobody_but_itself) {
  Scene scene;
  scene.host.announce_only = true;
  const Resolution resolution = scene.resolved();
  EXPECT_TRUE(resolution.balancer.announce_only);
  EXPECT_EQ(resolution.balancer.source_address, drivers::SourceAddress::masquerade);
  EXPECT_TRUE(resolution.checks().empty());
  scene.host.own_addresses = {ip("10.0.0.2"), ip("10.0.0.9")};
  const std::vector<Check> checks = scene.resolved().checks();
  ASSERT_EQ(checks.size(), 1);
  EXPECT_EQ(checks[0].address, ip("10.0.0.2"));
}

TEST(balancer_resolution, who_owns_slots_is_serving_in_the_groups_of_its_listeners) {
  Scene scene;
  const Resolution resolution = scene.resolved();
  drivers::Held held;
  const drivers::ListenerKey key{kV4, drivers::Protocol::tcp, 80};
  held.listeners[key].slots.fill({ip("10.0.0.1"), 8080});
  const Serving serving = serving_targets(resolution.balancer, held);
  EXPECT_EQ(serving, (Serving{{1, {ip("10.0.0.1"), 8080}}}));
  const auto statuses = target_statuses(resolution, scene.record, serving);
  ASSERT_EQ(statuses.size(), 3);
  EXPECT_EQ(statuses[0].group, "names");
  EXPECT_EQ(statuses[0].health, api::Health::unchecked);
  EXPECT_TRUE(statuses[1].serving);
  EXPECT_FALSE(statuses[2].serving);
  // Nobody of the other group is known to have served, so nothing is concluded there.
  const std::vector<Check> idle = checks_not_served(resolution, held);
  ASSERT_EQ(idle.size(), 1);
  EXPECT_EQ(idle[0].address, ip("10.0.0.2"));
}

}  // namespace
}  // namespace isthmus::infra
