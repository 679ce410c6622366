// What the cloud says by itself, its outages, and restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service.h"
#include "isthmus/controllers/service_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;

class service_news : public testing::ServiceStory {
 protected:
  void start_with_a_service() {
    start_with_nodes();
    put_service("web");
    pass(1s);
  }
};

// D-S2: a load balancer that was deleted behind our back comes back with its address.
TEST_F(service_news, what_vanished_from_the_cloud_is_made_anew_with_its_address) {
  start_with_nodes();
  put_service("first");
  put_service("web");
  pass(1s);
  const std::string before = address("web");
  cloud.load_balancers.take_away(balancer_name("first"));
  cloud.load_balancers.take_away(balancer_name("web"));
  pass(1s);
  EXPECT_TRUE(stands("web"));
  EXPECT_EQ(address("web"), before);
  EXPECT_EQ(events.count("Warning LoadBalancerRecreated web"), 1u);
  EXPECT_TRUE(measures(R"(isthmus_load_balancer_repairs_total{kind="recreated"} 2)"));
}

// D-S2: and one that was changed is put right.
TEST_F(service_news, what_somebody_changed_is_put_right) {
  start_with_a_service();
  balancer("web").spec.listeners[0].target_port = 1;
  cloud.load_balancers.touched(balancer_name("web"), true);
  pass(1s);
  EXPECT_EQ(balancer("web").spec.listeners[0].target_port, 30080);
  EXPECT_EQ(events.count("Warning LoadBalancerChanged"), 1u);
  EXPECT_TRUE(measures(R"(isthmus_load_balancer_repairs_total{kind="changed"} 1)"));
}

TEST_F(service_news, what_somebody_is_having_deleted_is_kept) {
  start_with_a_service();
  balancer("web").gone_at = world.loop.now() + 1h;
  cloud.load_balancers.touched(balancer_name("web"));
  pass(1s);
  EXPECT_FALSE(balancer("web").gone_at);
  EXPECT_EQ(events.count("Warning LoadBalancerRecreated"), 1u);
  EXPECT_EQ(address("web"), "192.0.2.1");
}

TEST_F(service_news, what_the_cloud_repaired_is_told_once_with_what_it_was) {
  start_with_a_service();
  cloud.load_balancers.repaired(balancer_name("web"), "the rules were gone");
  pass(1s);
  EXPECT_EQ(events.count("Warning LoadBalancerRepaired web"), 1u);
  EXPECT_EQ(events.count("the rules were gone"), 1u);
  pass(1h);
  EXPECT_EQ(events.count("LoadBalancerRepaired"), 1u);
  kill();
  start();
  pass(1s);
  EXPECT_EQ(events.count("LoadBalancerRepaired"), 1u);
}

TEST_F(service_news, facts_are_told_as_long_as_they_are_so_and_again_when_they_come_back) {
  start_with_a_service();
  for (int i = 0; i < 2; ++i) {
    balancer("web").facts = {{"ReturnPathMissing", "the machines' way back is another"}};
    cloud.load_balancers.touched(balancer_name("web"));
    pass(1h);
    EXPECT_EQ(events.count("Warning ReturnPathMissing"), i + 1u);
    balancer("web").facts.clear();
    cloud.load_balancers.touched(balancer_name("web"));
    pass(1s);
  }
}

TEST_F(service_news, a_part_that_the_cloud_did_not_take_is_told_and_tried_again) {
  start_with_a_service();
  balancer("web").problems = {{"listener tcp/80", {Outcome::conflict, "port 80 is taken"}}};
  cloud.load_balancers.touched(balancer_name("web"));
  pass(5min);
  EXPECT_EQ(events.count("Error syncing load balancer: listener tcp/80: port 80 is taken"), 1u);
  EXPECT_GE(cloud.load_balancers.ensures, 3u);
  EXPECT_EQ(address("web"), "192.0.2.1");
}

TEST_F(service_news, a_refused_wish_is_fulfilled_as_soon_as_the_pool_is_larger) {
  cloud.load_balancers.pool.set_addresses({});
  start_with_nodes();
  put_service("web");
  pass(1h);
  EXPECT_EQ(address("web"), "");
  EXPECT_EQ(events.count("SyncLoadBalancerFailed"), 1u);
  EXPECT_TRUE(measures(R"(isthmus_load_balancers{state="refused"} 1)"));
  cloud.load_balancers.pool.set_addresses({"192.0.2.9"});
  cloud.load_balancers.resources_changed();
  pass(100ms);
  EXPECT_EQ(address("web"), "192.0.2.9");
  EXPECT_TRUE(measures(R"(isthmus_load_balancers{state="refused"} 0)"));
}

// D-S15: an outage is one story, and the next, different error is told as well.
TEST_F(service_news, an_outage_is_told_once_and_a_different_error_as_well) {
  start_with_nodes();
  cloud.faults.error = Error{Outcome::lost, "connection refused"};
  put_service("web");
  pass(10min);
  EXPECT_EQ(events.count("SyncLoadBalancerFailed"), 1u);
  EXPECT_EQ(events.count("EnsuringLoadBalancer"), 0u);  // It has not come as far.
  cloud.faults.error = Error{Outcome::denied, "wrong token"};
  pass(10min);
  EXPECT_EQ(events.count("SyncLoadBalancerFailed"), 2u);
  cloud.faults = {};
  pass(3min);
  EXPECT_EQ(address("web"), "192.0.2.1");
}

// D-S8: no call before the time that the cloud named, whoever else is refused meanwhile.
TEST_F(service_news, comes_back_when_the_cloud_said_and_backs_off_where_it_did_not) {
  start_with_nodes();
  put_service("first");
  pass(1s);
  cloud.faults.calls_until_limit = 0;
  cloud.faults.busy_for = 3min;
  put_service("web");
  pass(1s);
  const std::size_t before = cloud.load_balancers.ensures;
  pass(170s);
  EXPECT_EQ(cloud.load_balancers.ensures, before);
  cloud.faults = {};
  cloud.faults.error = Error{Outcome::lost, "out"};
  pass(10min);
  EXPECT_LE(cloud.load_balancers.ensures, before + 15);
  cloud.faults = {};
  pass(3min);
  EXPECT_NE(address("web"), "");
}

TEST_F(service_news, waits_until_it_knows_what_the_cloud_has) {
  cloud.faults.error = Error{Outcome::lost, "connection refused"};
  put_service("web");
  put_service("plain", R"(, "unused": 1)");
  set_spec("plain", "type", "ClusterIP");
  start_with_nodes();
  pass(5min);
  EXPECT_EQ(cloud.load_balancers.ensures, 0u);
  EXPECT_EQ(events.count("Warning SyncLoadBalancerFailed web"), 1u);
  EXPECT_EQ(events.count("plain"), 0u);
  cloud.faults = {};
  pass(31s);
  EXPECT_EQ(address("web"), "192.0.2.1");
}

TEST_F(service_news, a_restart_in_an_outage_is_told_to_those_alone_who_wait) {
  start_with_nodes();
  put_service("served");
  pass(1s);
  kill();
  cloud.faults.error = Error{Outcome::lost, "connection refused"};
  put_service("waiting");
  start();
  pass(5min);
  EXPECT_EQ(events.count("SyncLoadBalancerFailed served"), 0u);
  EXPECT_EQ(events.count("SyncLoadBalancerFailed waiting"), 1u);
  cloud.faults = {};
  pass(31s);
  EXPECT_NE(address("waiting"), "");
}

TEST_F(service_news, does_not_begin_before_it_knows_which_cluster_this_is) {
  api.erase(kube::Namespace::resource, {"", "kube-system"});
  put_service("web");
  start_with_nodes();
  pass(1min);
  EXPECT_EQ(cloud.load_balancers.follows, 0u);
  EXPECT_EQ(events.count("kube-system"), 1u);
  api.put(
      kube::Namespace::resource,
      R"({"metadata": {"name": "kube-system", "uid": "6f0c3b1e-0f5a-4c4e-9d55-0a6f2a1f7b11"}})");
  pass(31s);
  EXPECT_EQ(address("web"), "192.0.2.1");
}

TEST_F(service_news, follows_again_after_a_cut_and_misses_nothing) {
  start_with_a_service();
  cloud.load_balancers.cut_follows();
  cloud.load_balancers.take_away(balancer_name("web"));
  pass(3s);
  EXPECT_TRUE(stands("web"));
  EXPECT_EQ(address("web"), "192.0.2.1");
  EXPECT_EQ(cloud.load_balancers.followers(), 1u);
}

TEST_F(service_news, a_restart_changes_nothing_and_tells_nothing) {
  start_with_nodes();
  for (int i = 0; i < 5; ++i) put_service(fmt::format("web{}", i));
  pass(1s);
  const std::size_t lines = events.lines.size();
  const std::size_t writes = cloud.load_balancers.writes;
  const std::size_t set_writes = cloud.target_sets.writes;
  const unsigned before = patches();
  kill();
  pass(1min);
  start();
  pass(1min);
  EXPECT_EQ(cloud.load_balancers.writes, writes);
  EXPECT_EQ(cloud.target_sets.writes, set_writes);
  EXPECT_EQ(patches(), before);
  EXPECT_EQ(events.lines.size(), lines);
}

TEST_F(service_news, what_changed_while_nobody_looked_is_put_right_after_the_start) {
  start_with_a_service();
  kill();
  set_spec("web", "sessionAffinity", "ClientIP");
  add_node("node3", "10.0.0.3");
  start();
  pass(1s);
  EXPECT_EQ(balancer("web").spec.affinity, cloud::LoadBalancerSpec::Affinity::client_ip);
  EXPECT_EQ(cloud.target_sets.standing.at(set_name()).targets.size(), 3u);
}

TEST_F(service_news, a_type_that_changed_while_nobody_looked_takes_the_load_balancer_away) {
  start_with_a_service();
  kill();
  set_spec("web", "type", "ClusterIP");
  set_finalizers("web", {});
  start();
  pass(1s);
  EXPECT_TRUE(cloud.load_balancers.standing.empty());
  EXPECT_EQ(address("web"), "");
}

TEST_F(service_news, an_ensure_whose_answer_was_lost_makes_no_second_load_balancer) {
  start_with_nodes();
  cloud.faults.answers_lost = 3;
  put_service("web");
  pass(1min);
  EXPECT_EQ(cloud.load_balancers.standing.size(), 1u);
  EXPECT_EQ(cloud.load_balancers.writes, 1u);
  EXPECT_EQ(address("web"), "192.0.2.1");
}

TEST_F(service_news, polls_what_is_not_settled_where_the_cloud_does_not_tell) {
  cloud.load_balancers.tells = false;
  cloud.load_balancers.settle_after = 12s;
  start_with_nodes();
  put_service("web");
  pass(20s);
  EXPECT_EQ(address("web"), "192.0.2.1");
  EXPECT_LE(cloud.load_balancers.gets, 4u);
  cloud.load_balancers.take_away(balancer_name("web"));
  pass(30min);
  EXPECT_TRUE(stands("web"));
  EXPECT_EQ(events.count("LoadBalancerRecreated"), 1u);
}

TEST_F(service_news, does_not_look_at_load_balancers_of_another_cluster) {
  const auto other = cloud::ClusterUid::parse("00000000-1111-4222-8333-444444444444").value();
  const std::string name =
      cloud::owned_name(kBalancerKind, other, "99999999-1111-4222-8333-444444444444").value();
  cloud.load_balancers.standing[name].spec.name = name;
  start_with_a_service();
  delete_service("web");
  pass(3h);
  EXPECT_TRUE(cloud.load_balancers.standing.contains(name));
  EXPECT_TRUE(cloud.target_sets.standing.empty());
}

}  // namespace
}  // namespace isthmus::controllers
