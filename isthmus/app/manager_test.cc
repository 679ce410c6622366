#include "isthmus/app/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/api/lease.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::app {
namespace {

using kube::testing::FakeApi;
using providers::fake::FakeProvider;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

const kube::ObjectKey kLease{.name_space = "kube-system", .name = "cloud-controller-manager"};

// One manager with everything it needs but the API server, which managers share.
struct OneManager {
  OneManager(VirtualWorld& world, FakeApi& api, std::string identity, bool leader_elect = true)
      : random(std::hash<std::string>{}(identity)), scope(world.loop) {
    auto owned = std::make_unique<FakeProvider>("isthmus");
    provider = owned.get();
    provider->add("m1", "node1", {{cloud::AddressType::internal_ip, "10.0.0.1"}});
    cloud.emplace(std::move(owned), cloud::GuardLimits{}, world.loop, metrics, log);
    ManagerOptions options;
    options.leader_elect = leader_elect;
    options.election.lease = kLease;
    options.election.identity = std::move(identity);
    options.node.plan.scheme = "isthmus";
    options.node.refresh_every = seconds(2);
    manager.emplace(ManagerDoors{world.loop, random, metrics, log, api, api, api, api, *cloud},
                    std::move(options));
  }

  Outcome check(std::string_view name) {
    for (const HealthCheck& check : manager->checks()) {
      if (check.name == name) return check.run().outcome();
    }
    ADD_FAILURE() << "no check " << name;
    return Outcome::invalid;
  }

  SeededRandom random;
  Metrics metrics;
  MemoryLogger log;
  FakeProvider* provider = nullptr;
  std::optional<cloud::Stack> cloud;
  std::optional<Manager> manager;
  Signal stopping;
  std::optional<Result<>> answer;  // Of run(), once it has ended.
  Scope scope;                     // Last: what runs goes before what it runs on.
};

class ManagerTest : public testing::Test {
 protected:
  ManagerTest() { api.latency = milliseconds(5); }

  void register_node(const std::string& name) {
    api.put(kube::Node::resource, R"({"metadata": {"name": ")" + name + R"("}, "spec": {"taints": [
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true",
         "effect": "NoSchedule"}]}, "status": {"addresses": [
        {"type": "Hostname", "address": ")" +
                                      name + R"("}]}})");
  }
  bool initialized(const std::string& name) {
    const json::value node = api.see(kube::Node::resource, {.name = name});
    return node.as_object().at("spec").as_object().contains("providerID");
  }
  std::string holder() {
    const json::value lease = api.see(kube::Lease::resource, kLease);
    if (lease.is_null()) return "";
    const json::object& spec = lease.as_object().at("spec").as_object();
    const json::value* holder = spec.if_contains("holderIdentity");
    return holder == nullptr || holder->is_null() ? "" : std::string(holder->as_string());
  }

  // Lets the loop run for this long.
  void pass(Duration time) {
    const Moment until = world.loop.now() + time;
    Result<> slept = world.run(wait_until(until));
    EXPECT_TRUE(slept.has_value());
  }
  static Task<Result<>> wait_until(Moment until) {
    Result<> slept = co_await sleep_until(until);
    co_return slept;
  }

  static void start(OneManager& one) { one.scope.spawn(run, std::ref(one)); }
  static Task<Result<>> run(OneManager& one) {
    Result<> ended = co_await one.manager->run(one.stopping);
    one.answer = ended;
    co_return Result<>{};
  }

  VirtualWorld world;
  FakeApi api{world.loop};
};

TEST_F(ManagerTest, leads_initializes_a_node_and_stops_in_order) {
  OneManager one(world, api, "a");
  register_node("node1");
  start(one);
  pass(seconds(5));

  EXPECT_EQ(holder(), "a");
  EXPECT_TRUE(initialized("node1"));

  one.stopping.set();
  pass(seconds(3));

  ASSERT_TRUE(one.answer.has_value());
  EXPECT_EQ(one.answer->outcome(), Outcome::ok);
  EXPECT_EQ(holder(), "") << "the lease is released";
}

TEST_F(ManagerTest, a_standby_takes_over_as_soon_as_the_leader_has_left) {
  OneManager first(world, api, "a");
  OneManager second(world, api, "b");
  start(first);
  pass(seconds(3));
  start(second);
  pass(minutes(2));
  EXPECT_EQ(holder(), "a");
  EXPECT_EQ(second.check("watch-nodes"), Outcome::ok) << "a standby is ready";
  EXPECT_EQ(second.check("standby"), Outcome::ok);

  first.stopping.set();
  pass(seconds(3));

  EXPECT_EQ(holder(), "b");
  EXPECT_FALSE(second.answer.has_value());
}

TEST_F(ManagerTest, a_lost_lease_ends_everything_with_an_error) {
  OneManager one(world, api, "a");
  start(one);
  pass(seconds(5));

  api.erase(kube::Lease::resource, kLease);
  pass(seconds(20));

  ASSERT_TRUE(one.answer.has_value());
  EXPECT_EQ(one.answer->outcome(), Outcome::lost);
}

TEST_F(ManagerTest, stops_in_time_while_a_cloud_call_hangs) {
  OneManager one(world, api, "a");
  one.provider->faults.silent = true;
  register_node("node1");
  start(one);
  pass(seconds(5));
  ASSERT_GT(one.provider->in_flight, 0u);

  one.stopping.set();
  pass(seconds(3));

  ASSERT_TRUE(one.answer.has_value());
  EXPECT_EQ(one.answer->outcome(), Outcome::ok);
  EXPECT_EQ(one.provider->in_flight, 0u);
  EXPECT_EQ(holder(), "");
  EXPECT_FALSE(initialized("node1"));
}

TEST_F(ManagerTest, stops_at_once_while_it_waits_for_the_lease) {
  OneManager first(world, api, "a");
  OneManager second(world, api, "b");
  start(first);
  start(second);
  pass(seconds(10));
  OneManager& standby = holder() == "a" ? second : first;
  const std::string leader = holder();

  standby.stopping.set();
  pass(seconds(1));

  ASSERT_TRUE(standby.answer.has_value());
  EXPECT_EQ(standby.answer->outcome(), Outcome::ok);
  EXPECT_EQ(holder(), leader);
}

TEST_F(ManagerTest, is_unready_but_alive_while_the_lease_cannot_be_read) {
  OneManager one(world, api, "a");
  api.inject({.verb = kube::testing::Verb::get, .error = {Outcome::denied, "401"}, .times = 3});
  start(one);
  pass(seconds(1));

  EXPECT_EQ(one.check("standby"), Outcome::lost);
  EXPECT_EQ(one.check("leaderElection"), Outcome::ok);

  pass(minutes(1));
  EXPECT_EQ(one.check("standby"), Outcome::ok);
}

TEST_F(ManagerTest, works_without_an_election) {
  OneManager one(world, api, "a", /*leader_elect=*/false);
  register_node("node1");
  start(one);
  pass(seconds(5));

  EXPECT_TRUE(initialized("node1"));
  EXPECT_EQ(holder(), "");
  one.stopping.set();
  pass(seconds(3));
  ASSERT_TRUE(one.answer.has_value());
  EXPECT_EQ(one.answer->outcome(), Outcome::ok);
}

TEST_F(ManagerTest, is_unready_but_alive_while_the_cloud_or_the_api_server_is_silent) {
  OneManager one(world, api, "a");
  one.provider->faults.error = Error{Outcome::lost, "connection refused"};
  start(one);
  pass(seconds(5));

  EXPECT_EQ(one.check("cloud-provider"), Outcome::lost);
  EXPECT_EQ(one.check("watch-nodes"), Outcome::ok);
  EXPECT_EQ(one.check("leaderElection"), Outcome::ok);
  EXPECT_EQ(one.check("cloud-node-controller"), Outcome::ok);

  one.provider->faults.error = std::nullopt;
  pass(minutes(2));
  EXPECT_EQ(one.check("cloud-provider"), Outcome::ok);
}

TEST_F(ManagerTest, sees_a_machine_move_within_a_round_however_short) {
  OneManager one(world, api, "a");
  register_node("node1");
  start(one);
  pass(seconds(5));

  one.provider->machines.front().zone = "rack-9";
  pass(seconds(5));

  const json::value node = api.see(kube::Node::resource, {.name = "node1"});
  EXPECT_EQ(node.at_pointer("/metadata/labels/topology.kubernetes.io~1zone"), "rack-9");
}

TEST_F(ManagerTest, says_in_its_metrics_which_controllers_run) {
  OneManager one(world, api, "a");
  start(one);
  pass(seconds(5));

  EXPECT_THAT(one.metrics.text(),
              HasSubstr("running_managed_controllers{manager=\"cloud-controller-"
                        "manager\",name=\"cloud-node\"} 1"));
}

}  // namespace
}  // namespace isthmus::app
