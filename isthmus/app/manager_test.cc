#include "isthmus/app/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/manager_testing.h"

namespace isthmus::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

class ManagerTest : public ManagerFixture {};

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

// Passes without any pause: as when a process was stopped and goes on later.
TEST_F(ManagerTest, a_leader_that_was_frozen_writes_nothing_when_it_goes_on) {
  OneManager frozen(world, api, "a");
  start(frozen);
  pass(seconds(5));
  const auto writes = [this] {
    return api.calls(kube::testing::Verb::patch, "nodes") +
           api.calls(kube::testing::Verb::create, "nodes");
  };
  const auto events = [this] {
    return api.calls(kube::testing::Verb::patch, "events") +
           api.calls(kube::testing::Verb::create, "events");
  };
  const unsigned before = writes();
  const unsigned events_before = events();
  register_node("node1");
  world.driver.wait(world.loop.now() + minutes(1));
  pass(minutes(1) + seconds(20));  // From the moment at which it was frozen.

  EXPECT_EQ(writes(), before);
  EXPECT_FALSE(initialized("node1"));
  EXPECT_EQ(events(), events_before) << "not even that it stopped leading";
  ASSERT_TRUE(frozen.answer.has_value());
  EXPECT_EQ(frozen.answer->outcome(), Outcome::lost);
}

// It is held up until after the end of the lease, and the process until after both.
TEST_F(ManagerTest, an_event_that_is_under_way_ends_with_the_lease) {
  kube::testing::FakeApi event_api(world.loop);
  OneManager frozen(world, api, "a", {}, {}, &event_api);
  start(frozen);
  pass(seconds(5));
  event_api.latency = seconds(30);
  register_node("node1");
  pass(seconds(1));
  ASSERT_TRUE(initialized("node1"));
  const unsigned told = event_api.calls(kube::testing::Verb::create, "events");
  ASSERT_GT(told, 0) << "one is under way";
  const std::size_t kept = event_api.keys(kube::Event::resource).size();

  world.driver.wait(world.loop.now() + minutes(1));
  pass(minutes(1) + seconds(20));

  EXPECT_EQ(event_api.calls(kube::testing::Verb::create, "events"), told);
  EXPECT_EQ(event_api.keys(kube::Event::resource).size(), kept);
  ASSERT_TRUE(frozen.answer.has_value());
  EXPECT_EQ(frozen.answer->outcome(), Outcome::lost);
}

TEST_F(ManagerTest, the_safety_config_map_stops_all_changes_and_keeps_the_lease) {
  OneManager one(world, api, "a");
  const auto say = [this](const std::string& word) {
    api.put(kube::ConfigMap::resource,
            R"({"metadata": {"namespace": "kube-system", "name": "isthmus-safety"},
                "data": {"stop-all-mutations": ")" +
                word + R"("}})");
  };
  say("true");
  register_node("node1");
  start(one);
  pass(minutes(1));
  EXPECT_FALSE(initialized("node1"));
  EXPECT_EQ(holder(), "a");
  EXPECT_FALSE(one.answer.has_value());
  EXPECT_THAT(one.metrics.text(), HasSubstr("isthmus_mutations_stopped 1"));

  say("false");
  pass(minutes(2) + seconds(10));
  EXPECT_TRUE(initialized("node1"));
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
  ManagerOptions options;
  options.leader_elect = false;
  OneManager one(world, api, "a", std::move(options));
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

TEST_F(ManagerTest, has_no_use_for_the_times_of_an_election_that_it_does_not_hold) {
  ManagerOptions options;
  options.leader_elect = false;
  options.election.lease_duration = seconds(5);
  OneManager one(world, api, "a", std::move(options));
  register_node("node1");
  start(one);
  pass(seconds(5));

  EXPECT_TRUE(initialized("node1"));
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

TEST_F(ManagerTest, warns_of_a_lease_that_is_too_short_for_any_deletion) {
  ManagerOptions options;
  options.controllers.emplace(kNodeLifecycleControllerName);
  options.election.renew_deadline = seconds(5);
  options.election.retry_period = seconds(1);
  const OneManager one(world, api, "a", std::move(options));
  EXPECT_TRUE(one.log.mentions("--leader-elect-renew-deadline is too short"));
  const OneManager usual(world, api, "b");
  EXPECT_FALSE(usual.log.mentions("--leader-elect-renew-deadline is too short"));
}

TEST_F(ManagerTest, does_not_take_a_lost_answer_for_one_that_says_who_the_cloud_is) {
  ManagerOptions options;
  options.controllers.emplace(kNodeLifecycleControllerName);
  OneManager one(world, api, "a", std::move(options));
  api.put(kube::Node::resource, R"({"metadata": {"name": "node1"},
      "spec": {"providerID": "isthmus://node1"},
      "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})");
  one.provider->faults.error = Error{Outcome::denied, "401"};
  start(one);
  pass(minutes(2));
  EXPECT_TRUE(one.log.mentions("who the cloud is, is not known"));

  one.provider->faults.error = Error{Outcome::lost, "connection refused"};
  pass(minutes(5));
  EXPECT_FALSE(one.log.mentions("the cloud has said who it is"));

  one.provider->faults.error = std::nullopt;
  pass(minutes(5));
  EXPECT_TRUE(one.log.mentions("the cloud has said who it is"));
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
