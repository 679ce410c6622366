#include "isthmus/controllers/node.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/node_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class node_controller : public testing::NodeStory {};

TEST_F(node_controller, writes_the_addresses_first_and_then_everything_else_in_one_patch) {
  register_node("node1");
  add_machine("1", "node1");
  std::vector<std::string> order;
  api.on_call = [&](Verb verb, const kube::ObjectName&) {
    if (verb != Verb::patch) return;
    order.push_back(at("node1", "/status/addresses/0/type").as_string() == "Hostname" ? "addresses"
                                                                                      : "the rest");
    EXPECT_TRUE(tainted("node1"));
  };
  start();
  pass(1s);
  EXPECT_THAT(order, ElementsAre("addresses", "the rest"));
  EXPECT_EQ(
      compact_json(at("node1", "/status/addresses")),
      R"([{"type":"InternalIP","address":"10.0.0.1"},{"type":"Hostname","address":"node1"}])");
  EXPECT_EQ(at("node1", "/spec/providerID"), "isthmus://1");
  EXPECT_EQ(compact_json(at("node1", "/spec/taints")), R"([{"key":"other","effect":"NoExecute"}])");
  EXPECT_EQ(at("node1", "/metadata/labels/topology.kubernetes.io~1zone"), "rack-7");
  EXPECT_EQ(at("node1", "/metadata/labels/kubernetes.io~1os"), "linux");
  EXPECT_THAT(events.lines, ElementsAre("Normal Synced node1: Node synced successfully"));
}

TEST_F(node_controller, measures_from_the_creation_of_the_node) {
  register_node("node1");
  pass(10s);
  add_machine("1", "node1");
  start();
  pass(1s);
  const std::string text = metrics.text();
  for (const std::string_view name : {"node_controller_cloud_provider_taint_removal_delay_seconds",
                                      "node_controller_initial_node_sync_delay_seconds"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format("{}_bucket{{le=\"4\"}} 0", name)));
    EXPECT_THAT(text, HasSubstr(fmt::format("{}_bucket{{le=\"16\"}} 1", name)));
  }
}

TEST_F(node_controller, keeps_the_taint_while_the_addresses_cannot_be_written) {
  register_node("node1");
  add_machine("1", "node1");
  api.inject({.verb = Verb::patch, .error = {Outcome::lost, "cut"}, .times = 3});
  start();
  pass(500ms);
  EXPECT_TRUE(tainted("node1"));
  pass(1min);
  EXPECT_FALSE(tainted("node1"));
  EXPECT_EQ(events.count("Synced"), 1U);
}

TEST_F(node_controller, keeps_what_another_wrote_while_its_cloud_call_was_hanging) {
  register_node("node1");
  add_machine("1", "node1");
  cloud.faults.delay = 5s;
  start();
  pass(2s);
  change("node1", [](json::value& node) {
    node.at_pointer("/metadata/labels").as_object()["team"] = "blue";
    node.at_pointer("/spec/taints")
        .as_array()
        .push_back({{"key", "late"}, {"effect", "NoExecute"}});
  });
  api.frozen = true;  // The watch says nothing of it.
  pass(30s);
  EXPECT_FALSE(tainted("node1"));
  EXPECT_EQ(at("node1", "/metadata/labels/team"), "blue");
  EXPECT_THAT(compact_json(at("node1", "/spec/taints")), HasSubstr("late"));
  EXPECT_EQ(events.count("Synced"), 1U);
}

TEST_F(node_controller, does_not_act_on_a_picture_that_its_own_write_has_made_old) {
  register_node("node1");
  add_machine("1", "node1");
  api.on_call = [&](Verb verb, const kube::ObjectName&) {
    // The store has heard of the addresses, and for a while hears nothing of the rest.
    if (verb == Verb::patch && patches() == 2) api.frozen = true;
  };
  api.latency = 100ms;
  start();
  pass(10s);
  ASSERT_FALSE(tainted("node1"));
  const auto old_picture = nodes.find({"", "node1"});
  ASSERT_TRUE(old_picture->find_taint(kUninitializedTaint));
  ASSERT_EQ(old_picture->addresses.size(), 2U);
  EXPECT_EQ(patches(), 2U);
  EXPECT_EQ(api.calls(Verb::get), 0U);
}

TEST_F(node_controller, stops_when_somebody_else_has_removed_the_taint) {
  register_node("node1");
  add_machine("1", "node1");
  bool once = true;
  api.on_call = [&](Verb verb, const kube::ObjectName&) {
    if (verb != Verb::patch || !once) return;
    once = false;
    change("node1", [](json::value& node) {
      node.at_pointer("/spec").as_object() = {{"providerID", "other://7"}};
    });
  };
  start();
  pass(1min);
  EXPECT_EQ(at("node1", "/spec/providerID"), "other://7");
  EXPECT_EQ(at("node1", "/status/addresses/0/type"), "Hostname");
  EXPECT_EQ(events.count("Synced"), 0U);
}

TEST_F(node_controller, is_done_with_a_node_that_is_deleted_half_way) {
  register_node("node1");
  add_machine("1", "node1");
  api.on_call = [&](Verb verb, const kube::ObjectName&) {
    if (verb == Verb::patch && patches() == 2) api.erase(kube::Node::resource, {"", "node1"});
  };
  start();
  pass(10min);
  EXPECT_EQ(patches(), 2U);
  EXPECT_TRUE(events.lines.empty());
  EXPECT_FALSE(log.mentions("reconcile failed"));
}

TEST_F(node_controller, gives_a_namesake_its_own_initialization) {
  register_node("node1");
  add_machine("1", "node1");
  const json::value first = at("node1", "/metadata/uid");
  api.on_call = [&](Verb verb, const kube::ObjectName&) {
    if (verb != Verb::patch || patches() != 2) return;
    api.erase(kube::Node::resource, {"", "node1"});
    register_node("node1");
  };
  start();
  pass(10s);
  EXPECT_NE(at("node1", "/metadata/uid"), first);
  EXPECT_FALSE(tainted("node1"));
  EXPECT_EQ(at("node1", "/status/addresses/0/address"), "10.0.0.1");
  EXPECT_EQ(events.count("Synced"), 1U);
}

TEST_F(node_controller, never_gives_one_machine_to_two_nodes) {
  cloud::Instance& machine =
      cloud.add("1", "node1", {{cloud::AddressType::internal_ip, "10.0.0.1"}});
  machine.names.push_back("node2");
  register_node("node1");
  register_node("node2");
  api.latency = 200ms;
  start();
  pass(10s);
  EXPECT_FALSE(tainted("node1"));
  EXPECT_TRUE(tainted("node2"));
  EXPECT_EQ(events.count("Warning FailedToInitialize node2: machine node1 (isthmus://1) belongs to "
                         "Node node1 already"),
            1U);
  api.erase(kube::Node::resource, {"", "node1"});
  pass(3min);
  EXPECT_FALSE(tainted("node2"));
}

TEST_F(node_controller, refuses_once_and_goes_on_when_the_inventory_is_corrected) {
  register_node("node1");
  add_machine("1", "node1");
  add_machine("2", "node1");
  start();
  pass(10min);
  EXPECT_TRUE(tainted("node1"));
  EXPECT_EQ(patches(), 0U);
  EXPECT_THAT(events.lines,
              ElementsAre("Warning FailedToInitialize node1: 2 machines have its name: node1 "
                          "(isthmus://1), node1 (isthmus://2)"));
  cloud.remove("1");
  pass(130s);
  EXPECT_EQ(at("node1", "/spec/providerID"), "isthmus://2");
}

TEST_F(node_controller, tells_once_that_the_cloud_is_out_and_again_when_that_changes) {
  register_node("node1");
  add_machine("1", "node1");
  cloud.faults.error = Error{Outcome::lost, "cut"};
  start();
  pass(10min);
  EXPECT_EQ(events.lines.size(), 1U);
  EXPECT_EQ(events.count("Warning FailedToInitialize node1: the cloud cannot be asked"), 1U);
  cloud.faults.error = Error{Outcome::busy, "slow down"};
  pass(10min);
  EXPECT_EQ(events.lines.size(), 1U);
  cloud.faults.error = Error{Outcome::denied, "who are you"};
  pass(10min);
  EXPECT_EQ(events.lines.size(), 2U);
  cloud.faults.error.reset();
  pass(70s);
  EXPECT_FALSE(tainted("node1"));
}

TEST_F(node_controller, does_not_come_back_to_a_busy_cloud_before_its_time) {
  register_node("node1");
  add_machine("1", "node1");
  cloud.faults.calls_until_limit = 0;
  cloud.faults.busy_for = 5min;
  start();
  pass(299s);
  EXPECT_EQ(cloud.lists, 1U);
  cloud.faults.calls_until_limit.reset();
  pass(10min);
  EXPECT_FALSE(tainted("node1"));
}

TEST_F(node_controller, waits_for_a_change_where_only_the_node_is_wrong) {
  register_node("node1");
  add_machine("1", "node1");
  change("node1", [](json::value& node) {
    node.at_pointer("/metadata").as_object()["annotations"] = {
        {"alpha.kubernetes.io/provided-node-ip", "here"}};
  });
  start();
  pass(9min);
  EXPECT_EQ(events.count("NodeIPNotFound"), 1U);
  EXPECT_EQ(cloud.lists, 1U);
  change("node1", [](json::value& node) {
    node.at_pointer("/metadata/annotations").as_object()["alpha.kubernetes.io/provided-node-ip"] =
        "10.0.0.1";
  });
  pass(1s);
  EXPECT_FALSE(tainted("node1"));
}

TEST_F(node_controller, says_what_the_api_server_has_against_a_change) {
  register_node("node1");
  add_machine("1", "node1");
  api.inject({.verb = Verb::patch, .error = {Outcome::denied, "cannot patch nodes"}, .times = 1});
  start();
  pass(1s);
  EXPECT_EQ(events.count("FailedToInitialize node1: the API server refuses the change: cannot"),
            1U);
}

TEST_F(node_controller, frees_a_machine_that_the_api_server_did_not_let_it_give_away) {
  cloud::Instance& machine =
      cloud.add("1", "node1", {{cloud::AddressType::internal_ip, "10.0.0.1"}});
  machine.names.push_back("node2");
  register_node("node1");
  api.inject({.verb = Verb::patch, .error = {Outcome::invalid, "no"}, .times = 1});
  start();
  pass(1s);
  register_node("node2");
  pass(1s);
  EXPECT_TRUE(tainted("node1"));
  EXPECT_FALSE(tainted("node2"));
}

TEST_F(node_controller, finishes_what_was_done_though_its_answer_was_lost) {
  register_node("node1");
  add_machine("1", "node1");
  api.inject(
      {.verb = Verb::patch, .error = {Outcome::lost, "cut"}, .after_effect = true, .times = 2});
  start();
  pass(1min);
  EXPECT_FALSE(tainted("node1"));
  EXPECT_EQ(patches(), 2U);
}

TEST_F(node_controller, asks_the_cloud_a_handful_of_times_for_a_thousand_nodes) {
  for (int i = 0; i < 1000; ++i) {
    register_node("node" + std::to_string(i));
    add_machine(std::to_string(i), "node" + std::to_string(i));
  }
  start();
  pass(30s);
  EXPECT_EQ(events.count("Synced"), 1000U);
  EXPECT_EQ(patches(), 2000U);
  EXPECT_LE(cloud.lists + cloud.gets, 3U);
}

TEST_F(node_controller, needs_no_newer_list_for_nodes_that_wait_for_their_turn) {
  api.latency = 100ms;
  for (int i = 0; i < 1000; ++i) {
    register_node("node" + std::to_string(i));
    add_machine(std::to_string(i), "node" + std::to_string(i));
  }
  start();
  pass(18s);
  EXPECT_LT(events.count("Synced"), 1000U);
  pass(7s);
  EXPECT_EQ(events.count("Synced"), 1000U);
  EXPECT_EQ(cloud.lists, 1U);
}

TEST_F(node_controller, takes_no_list_that_is_older_than_the_node_and_five_seconds) {
  register_node("node1");
  add_machine("1", "node1");
  add_machine("2", "node2");
  start();
  pass(6s);
  ASSERT_EQ(cloud.lists, 1U);
  cloud.remove("2");
  add_machine("3", "node2");
  register_node("node2");
  pass(1s);
  EXPECT_EQ(at("node2", "/spec/providerID"), "isthmus://3");
}

TEST_F(node_controller, knows_no_longer_who_was_replaced_by_a_namesake) {
  add_machine("1", "node1");
  const auto see = [&](const std::string& uid) {
    kube::Node node{.meta = {.key = {"", "node1"}, .uid = uid, .resource_version = uid},
                    .taints = {{.key = std::string(kUninitializedTaint)}}};
    nodes.apply({.item = {node.meta.key, uid, uid, node}});
  };
  see("1");
  pass(10s);
  ASSERT_TRUE(world.run(machines.list({}, 0s)));
  see("2");
  pass(10s);
  see("1");  // As a server has it that was restored from a copy.
  (void)world.run(controller.reconcile({"", "node1"}));
  EXPECT_EQ(cloud.lists, 2U) << "as new as it is";
}

TEST_F(node_controller, finds_a_machine_that_is_newer_than_the_list_in_memory) {
  register_node("node1");
  add_machine("1", "node1");
  start();
  pass(4s);
  ASSERT_EQ(cloud.lists, 1U);
  add_machine("2", "node2");
  register_node("node2");
  pass(1ms);
  EXPECT_FALSE(tainted("node2"));
  EXPECT_EQ(events.count("Warning"), 0U);
}

TEST_F(node_controller, asks_once_a_second_for_a_thousand_nodes_that_no_machine_matches) {
  for (int i = 0; i < 1000; ++i) register_node("node" + std::to_string(i));
  start();
  pass(10s);
  EXPECT_EQ(events.count("no machine has its name"), 1000U);
  EXPECT_LE(cloud.lists, 11U);
}

}  // namespace
}  // namespace isthmus::controllers
