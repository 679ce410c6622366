#include "isthmus/controllers/node_lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/node_lifecycle_testing.h"
#include "isthmus/controllers/node_subject.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;
using ::testing::HasSubstr;

class node_lifecycle : public testing::LifecycleStory {};

// --- Stopped is not gone
// ---------------------------------------------------------------------------

TEST_F(node_lifecycle, taints_a_node_whose_machine_is_shut_down_and_untaints_it) {
  add_nodes(20);
  start();
  shut_down("node3");
  pass(2min);
  EXPECT_TRUE(has_taint("node3", kShutdownTaint));
  power_on("node3");
  pass(65s);
  EXPECT_FALSE(has_taint("node3", kShutdownTaint)) << "it runs, although it is not Ready yet";
  EXPECT_EQ(value("isthmus_node_shutdown_taints_total{action=\"set\"}"), 1);
  EXPECT_EQ(value("isthmus_node_shutdown_taints_total{action=\"removed\"}"), 1);
  EXPECT_TRUE(exists("node3"));
}

TEST_F(node_lifecycle, untaints_a_node_that_is_ready_although_the_cloud_says_otherwise) {
  add_nodes(20);
  start();
  shut_down("node3");
  pass(2min);
  start_kubelet("node3");
  pass(50s);
  EXPECT_TRUE(has_taint("node3", kShutdownTaint));
  pass(70s);
  EXPECT_FALSE(has_taint("node3", kShutdownTaint));
}

TEST_F(node_lifecycle, puts_back_a_taint_that_somebody_removed) {
  add_nodes(20);
  start();
  shut_down("node3");
  pass(2min);
  change("node3", [](json::value& node) { node.at("spec").as_object().erase("taints"); });
  pass(2min);
  EXPECT_TRUE(has_taint("node3", kShutdownTaint));
}

TEST_F(node_lifecycle, keeps_a_stopped_machines_node_for_ever) {
  add_nodes(20);
  start();
  for (int i = 0; i < 10; ++i) shut_down(name(i));
  pass(3h);
  EXPECT_EQ(count_nodes(), 20U);
  EXPECT_EQ(value("isthmus_nodes_deleted_total"), 0);
}

// --- Gone
// ------------------------------------------------------------------------------------------

TEST_F(node_lifecycle, deletes_the_node_of_a_machine_that_is_gone_within_six_minutes) {
  add_nodes(100);
  start();
  std::vector<std::string> deleted;
  api.on_call = [&](Verb verb, const kube::ObjectName& object) {
    if (verb == Verb::remove) deleted.push_back(object.key.name);
  };
  destroy("node7");
  pass(2min);
  EXPECT_TRUE(exists("node7"));
  EXPECT_EQ(events.count("Normal InstanceMissing node7"), 1U);
  pass(4min);
  EXPECT_FALSE(exists("node7"));
  EXPECT_EQ(deleted, std::vector<std::string>{"node7"});
  EXPECT_EQ(events.count("Normal DeletingNode node7: Deleting node node7 because it does not exist "
                         "in the cloud provider"),
            1U);
  EXPECT_EQ(events.count("Warning"), 0U);
  EXPECT_EQ(value("isthmus_nodes_deleted_total"), 1);
  EXPECT_EQ(value("isthmus_cloud_contradictions_total{kind=\"heartbeat\"}"), 0);
  EXPECT_TRUE(log.mentions("node deleted"));
  EXPECT_TRUE(log.mentions("said to be gone"));
}

TEST_F(node_lifecycle, asks_the_cloud_nothing_about_ready_nodes) {
  add_nodes(100);
  start();
  pass(10s);
  const std::size_t calls = cloud.gets + cloud.lists;
  pass(2min);
  EXPECT_EQ(cloud.gets + cloud.lists, calls);
  EXPECT_EQ(heartbeats.reads, 0U);
}

TEST_F(node_lifecycle, asks_nothing_about_those_who_have_just_registered) {
  add_nodes(100);
  start();
  for (int i = 0; i < 20; ++i) {
    const std::string node = name(100 + i);
    cloud.add(node, node);
    put(node, {{"providerID", "isthmus://" + node}}, "a", false);
  }
  const std::string lists =
      "cloud_node_lifecycle_controller_cloud_provider_calls_total"
      R"({operation="list_instances",result="success"})";
  pass(55s);
  EXPECT_EQ(value(lists), 0);
  pass(20s);
  EXPECT_GE(value(lists), 1);
  EXPECT_LE(value(lists), 3);
}

TEST_F(node_lifecycle, asks_about_a_partition_with_a_few_lists) {
  add_nodes(5000);
  start();
  for (int i = 0; i < 5000; ++i) stop_kubelet(name(i));
  pass(10min);
  const std::string calls = "cloud_node_lifecycle_controller_cloud_provider_calls_total";
  EXPECT_EQ(value(calls + R"({operation="instance_exists",result="success"})"), 0);
  EXPECT_LE(value(calls + R"({operation="list_instances",result="success"})"), 15);
  EXPECT_EQ(count_nodes(), 5000U);
}

TEST_F(node_lifecycle, reads_live_and_leaves_a_node_that_is_ready_after_all) {
  add_nodes(100);
  start();
  destroy("node7");
  pass(100s);
  api.frozen = true;  // The watch says nothing of it.
  set_ready("node7", true);
  pass(3min);
  EXPECT_TRUE(exists("node7"));
  EXPECT_EQ(api.calls(Verb::remove), 0U);
}

TEST_F(node_lifecycle, looks_at_the_kubelet_once_more_and_leaves_a_node_that_is_heard_of) {
  add_nodes(100);
  start();
  destroy("node7");
  pass(100s);
  api.on_call = [&](Verb verb, const kube::ObjectName& object) {
    if (verb == Verb::get && object.key.name == "node7") heartbeats.start("node7");
  };
  pass(10min);
  EXPECT_GE(api.calls(Verb::get, "nodes"), 1U);
  EXPECT_EQ(api.calls(Verb::remove), 0U);
  EXPECT_TRUE(exists("node7"));
}

TEST_F(node_lifecycle, deletes_also_where_a_look_at_the_kubelets_takes_long) {
  add_nodes(100);
  start();
  heartbeats.takes = 20s;
  destroy("node7");
  pass(6min);
  EXPECT_FALSE(exists("node7"));
}

TEST_F(node_lifecycle, says_on_the_node_that_a_look_at_the_kubelets_takes_too_long) {
  add_nodes(100);
  start();
  heartbeats.takes = 40s;
  destroy("node7");
  pass(30min);
  EXPECT_TRUE(exists("node7"));
  EXPECT_EQ(events.count("Warning NodeDeletionWithheld node7: its machine seems to be gone, and it "
                         "is kept (live_read): to read the Node live and then its kubelet's Lease "
                         "took 40s; "),
            1U);
}

TEST_F(node_lifecycle, deletes_nothing_by_what_was_said_while_nobody_knew_who_the_cloud_is) {
  add_nodes(100);
  start();
  health.is_known = false;
  destroy("node7");
  pass(10min);
  EXPECT_TRUE(exists("node7"));
  health.is_known = true;
  pass(100s);
  EXPECT_TRUE(exists("node7")) << "it is the same again, and all begins anew";
  pass(5min);
  EXPECT_FALSE(exists("node7"));
}

TEST_F(node_lifecycle, forgets_a_node_that_goes_while_it_is_read) {
  add_nodes(100);
  start();
  bool is_gone = false;
  api.on_call = [&](Verb verb, const kube::ObjectName& object) {
    if (is_gone || verb != Verb::get || object.key.name != "node7") return;
    is_gone = true;  // Its news comes before the answer, which has been under way for longer.
    nodes.apply({kube::ChangeKind::deleted, {.key = object.key, .uid = uid("node7")}});
  };
  destroy("node7");
  pass(6min);
  ASSERT_TRUE(is_gone);
  const std::size_t calls = cloud.gets + cloud.lists;
  pass(2min);
  EXPECT_EQ(cloud.gets + cloud.lists, calls) << "nobody is suspected any more";
}

TEST_F(node_lifecycle, never_deletes_a_namesake) {
  add_nodes(100);
  start();
  destroy("node7");
  pass(100s);
  api.frozen = true;
  api.erase(kube::Node::resource, {"", "node7"});
  put("node7", {{"providerID", "isthmus://node7"}});
  set_ready("node7", false);
  pass(4min);
  EXPECT_TRUE(exists("node7"));
  EXPECT_EQ(api.calls(Verb::remove), 0U);
}

TEST_F(node_lifecycle, decides_anew_when_the_node_changes_while_it_is_deleted) {
  add_nodes(100);
  start();
  int changes = 0;
  api.on_call = [&](Verb verb, const kube::ObjectName& object) {
    if (verb == Verb::remove && ++changes == 1)
      annotate(object.key.name, kNodeProtectAnnotation, "");
  };
  destroy("node7");
  pass(10min);
  EXPECT_TRUE(exists("node7"));
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(events.count("NodeDeletionWithheld node7"), 1U);
}

TEST_F(node_lifecycle, asks_again_after_an_answer_that_was_lost) {
  add_nodes(100);
  start();
  api.inject({.verb = Verb::remove, .error = {Outcome::lost, "cut"}});
  destroy("node7");
  pass(6min);
  EXPECT_FALSE(exists("node7"));
  EXPECT_EQ(events.count("Warning DeletingNodeFailed node7: Failed deleting node node7: cut"), 1U);
  EXPECT_EQ(events.count("Normal DeletingNode node7"), 1U);
}

TEST_F(node_lifecycle, only_observes_where_it_may_not_delete) {
  add_nodes(100);
  start();
  api.inject({.verb = Verb::remove, .error = {Outcome::denied, "403"}, .times = 100});
  destroy("node7");
  pass(1h);
  EXPECT_TRUE(exists("node7"));
  EXPECT_LE(api.calls(Verb::remove), 6U);
  EXPECT_GE(events.count("Warning NodeDeletionDenied node7"), 1U);
  EXPECT_EQ(value("isthmus_node_deletions_withheld{condition=\"delete_denied\"}"), 1);
  api.heal();
  pass(12min);
  EXPECT_FALSE(exists("node7"));
}

TEST_F(node_lifecycle, deletes_others_where_an_admission_keeps_one) {
  add_nodes(100);
  start();
  std::vector<std::string> tried;
  api.on_call = [&](Verb verb, const kube::ObjectName& object) {
    if (verb != Verb::remove) return;
    tried.push_back(object.key.name);
    if (object.key.name == "node7") {
      api.inject({.verb = Verb::remove, .error = {Outcome::denied, "admission webhook"}});
    }
  };
  destroy("node7");
  pass(8min);
  EXPECT_EQ(tried, std::vector<std::string>{"node7"});
  destroy("node8");
  pass(5min);
  EXPECT_TRUE(exists("node7"));
  EXPECT_FALSE(exists("node8"));
  pass(1h);
  EXPECT_LE(std::ranges::count(tried, "node7"), 8) << "once in ten minutes";
}

TEST_F(node_lifecycle, gives_the_place_of_a_deletion_that_was_refused_to_others) {
  add_nodes(10);
  start();
  api.on_call = [&](Verb verb, const kube::ObjectName& object) {
    if (verb == Verb::remove && object.key.name == "node7") {
      api.inject({.verb = Verb::remove, .error = {Outcome::invalid, "422"}});
    }
  };
  destroy("node7");
  pass(5min);
  ASSERT_GE(events.count("Warning DeletingNodeFailed node7"), 1U);
  destroy("node8");
  pass(5min);
  EXPECT_FALSE(exists("node8"));
}

TEST_F(node_lifecycle, deletes_nothing_in_the_last_seconds_of_its_lease) {
  add_nodes(100);
  start();
  leads_for = 4s;
  destroy("node7");
  pass(10min);
  EXPECT_TRUE(exists("node7"));
  leads_for = 5s;
  pass(1min);
  EXPECT_FALSE(exists("node7"));
}

// --- Words of people
// -------------------------------------------------------------------------------

TEST_F(node_lifecycle, says_on_the_node_why_it_is_kept_once) {
  add_nodes(100);
  annotate("node7", kNodeProtectAnnotation, "true");
  start();
  destroy("node7");
  pass(1h);
  EXPECT_TRUE(exists("node7"));
  EXPECT_EQ(events.count("Warning NodeDeletionWithheld node7: its machine seems to be gone, and it "
                         "is kept (protected): the annotation isthmus.dev/node-protect protects "
                         "it; somebody has to "
                         "remove the annotation"),
            1U);
  EXPECT_EQ(events.count("NodeDeletionWithheld"), 1U);
  EXPECT_EQ(value("isthmus_node_deletions_withheld{condition=\"protected\"}"), 1);
  change("node7",
         [](json::value& node) { node.at_pointer("/metadata/annotations").as_object().clear(); });
  pass(4min);
  EXPECT_FALSE(exists("node7"));
  pass(1min);
  EXPECT_EQ(value("isthmus_node_deletions_withheld{condition=\"protected\"}"), 0);
}

TEST_F(node_lifecycle, believes_whoever_confirms_exactly_this_node_gone_until_that_runs_out) {
  add_nodes(100);
  start();
  cloud.faults.error = Error{Outcome::lost, "out"};  // Until then nothing would be known of it.
  cloud.faults.errors = 1;
  const std::string later = rfc3339(world.loop.wall_now() + 1h);
  annotate("node7", kNodeConfirmedGoneAnnotation, "somebody-else@" + later);
  annotate("node8", kNodeConfirmedGoneAnnotation, uid("node8") + "@" + later);
  annotate("node9", kNodeConfirmedGoneAnnotation,
           uid("node9") + "@" + rfc3339(world.loop.wall_now() - 1s));
  pass(10min);
  EXPECT_TRUE(exists("node7"));
  EXPECT_FALSE(exists("node8"));
  EXPECT_EQ(events.count("Normal DeletingNode node8: Deleting node node8 because its annotation "
                         "isthmus.dev/node-confirmed-gone says that its machine is gone"),
            1U);
  EXPECT_TRUE(exists("node9"));
  EXPECT_EQ(events.count("Warning InvalidAnnotation node7"), 1U);
}

TEST_F(node_lifecycle, deletes_nothing_while_all_changes_are_stopped) {
  add_nodes(100);
  start();
  safety.stopped = true;
  destroy("node7");
  pass(10min);
  EXPECT_TRUE(exists("node7"));
  EXPECT_EQ(events.count("(mutations_stopped)"), 1U);
  safety.stopped = false;
  pass(1min);
  EXPECT_FALSE(exists("node7"));
}

TEST_F(node_lifecycle, lets_an_acknowledged_batch_go_slowly) {
  add_nodes(100);
  start();
  for (int i = 0; i < 12; ++i) destroy(name(i));
  pass(10min);
  EXPECT_EQ(count_nodes(), 100U);
  EXPECT_EQ(value("isthmus_node_deletion_breakers{kind=\"cluster\"}"), 1);
  const std::string line = *std::ranges::find_if(events.lines, [](const std::string& each) {
    return each.find("acknowledge node-deletion/cluster/") != std::string::npos;
  });
  const std::size_t begin = line.find("node-deletion/cluster/");
  safety.acknowledged.insert(line.substr(begin, line.find_first_of(" ;(", begin) - begin));
  pass(9min);
  EXPECT_EQ(count_nodes(), 98U);
  pass(10min);
  EXPECT_EQ(count_nodes(), 96U);
  safety.acknowledged.clear();
  pass(10min);
  EXPECT_EQ(count_nodes(), 96U);
}

// --- Whose Nodes
// -----------------------------------------------------------------------------------

TEST_F(node_lifecycle, leaves_nodes_of_others_alone) {
  add_nodes(20);
  put("theirs", {{"providerID", "aws:///eu/i-1"}});
  start();
  set_ready("theirs", false);
  pass(1h);
  EXPECT_TRUE(exists("theirs"));
  for (const std::string_view operation : {"instance_exists", "list_instances"}) {
    const std::string labels = fmt::format(R"({{operation="{}",result="success"}})", operation);
    EXPECT_EQ(value("cloud_node_lifecycle_controller_cloud_provider_calls_total" + labels), 0);
  }
  EXPECT_EQ(events.count("InstanceMissing"), 0U);
}

TEST_F(node_lifecycle, reports_a_node_without_an_id_and_never_deletes_it) {
  add_nodes(20);
  put("nameless", json::object());
  start();
  set_ready("nameless", false);
  pass(14min);
  EXPECT_EQ(events.count("NodeWithoutProviderID"), 0U);
  pass(50min);
  EXPECT_EQ(events.count("Warning NodeWithoutProviderID nameless"), 1U);
  pass(1h);
  EXPECT_EQ(events.count("Warning NodeWithoutProviderID nameless"), 2U);
  EXPECT_TRUE(exists("nameless"));
}

TEST_F(node_lifecycle, reports_a_node_whose_id_the_cloud_refuses_and_deletes_it_when_it_does_not) {
  add_nodes(20);
  start();
  lies.refuses_ids = true;
  destroy("node7");
  pass(14min);
  EXPECT_EQ(events.count("ProviderIDRefused"), 0U);
  pass(30min);
  EXPECT_EQ(events.count("Warning ProviderIDRefused node7"), 1U);
  EXPECT_TRUE(exists("node7"));
  lies.refuses_ids = false;
  pass(6min);
  EXPECT_FALSE(exists("node7"));
}

TEST_F(node_lifecycle, leaves_a_node_that_is_being_deleted_alone) {
  add_nodes(100);
  start();
  destroy("node7");
  pass(1min);
  change("node7", [](json::value& node) {
    node.at("metadata").as_object()["deletionTimestamp"] = "2026-11-30T00:00:00Z";
    node.at("metadata").as_object()["finalizers"] = json::array{"somebody/holds-it"};
  });
  pass(1h);
  EXPECT_EQ(api.calls(Verb::remove), 0U);
  EXPECT_EQ(events.count("DeletingNode"), 0U);
}

TEST_F(node_lifecycle, is_healthy_until_a_round_does_not_end) {
  add_nodes(20);
  start();
  cloud.faults.silent = true;
  set_ready("node3", false);
  pass(2min);
  EXPECT_TRUE(lifecycle.check());
  pass(5min);
  EXPECT_FALSE(lifecycle.check());
}

TEST_F(node_lifecycle, behaves_as_an_observer_while_it_may_not_read_leases) {
  add_nodes(100);
  start();
  heartbeats.error = Error{Outcome::denied, "no right to list leases"};
  destroy("node7");
  pass(20min);
  EXPECT_TRUE(exists("node7"));
  EXPECT_EQ(events.count("no right to list leases"), 1U);
}

class node_lifecycle_like_upstream : public testing::LifecycleStory {
 protected:
  node_lifecycle_like_upstream()
      : LifecycleStory({.policy = {.mode = cloud::DeletionMode::upstream}}) {}
};

TEST_F(node_lifecycle_like_upstream, deletes_by_one_answer_with_preconditions) {
  add_nodes(3);
  start();
  destroy("node1");
  pass(50s);
  EXPECT_FALSE(exists("node1"));
  EXPECT_EQ(heartbeats.reads, 0U);
}

}  // namespace
}  // namespace isthmus::controllers
