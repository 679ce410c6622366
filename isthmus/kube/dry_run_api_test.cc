#include "isthmus/kube/dry_run_api.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api/patch.h"
#include "isthmus/kube/checked_patch.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::kube {
namespace {

using testing::FakeApi;
using testing::Verb;

const ObjectName kNode{Node::resource, {"", "n1"}};
const ObjectName kEvent{Event::resource, {"default", "n1.1"}};

struct dry_run_api : ::testing::Test {
  dry_run_api() {
    api.put(Node::resource, R"({"metadata": {"name": "n1"}, "spec": {"taints": [
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}]}})");
  }

  Node read() {
    std::string text = world.run(dry.get(kNode)).value();
    return decoder.object<Node>(text).value();
  }
  Result<std::string> patch(std::string subresource, Patch patch) {
    return world.run(checked_patch(
        dry, {.object = kNode, .subresource = std::move(subresource), .patch = std::move(patch)}));
  }
  Result<std::string> label(std::string value) {
    return patch("", *node_patch(read(), {.labels = StringMap{{{"zone", std::move(value)}}}}));
  }

  // Everything that would change something, as the server counted it.
  unsigned writes() const {
    return api.calls(Verb::create) + api.calls(Verb::patch) + api.calls(Verb::remove);
  }
  std::vector<std::string> told() const {
    std::vector<std::string> lines;
    for (const MemoryLogger::Line& line : log.lines) lines.push_back(line.text);
    return lines;
  }

  VirtualWorld world;
  FakeApi api{world.loop};
  MemoryLogger log;
  DryRunApi dry{api, log};
  Decoder decoder;
};

TEST_F(dry_run_api, lets_no_verb_write_and_every_verb_read) {
  const Node node = read();
  EXPECT_TRUE(label("a"));
  EXPECT_TRUE(patch("status", node_addresses_patch(same_object(node.meta), {})));
  EXPECT_TRUE(world.run(dry.create({{Lease::resource, {"kube-system", "l"}},
                                    lease_body({"kube-system", "l"}, {.holder = "me"})})));
  EXPECT_TRUE(world.run(dry.create({kEvent, event_body({.meta = {.key = kEvent.key}})})));
  EXPECT_TRUE(world.run(dry.patch({kEvent, {}, event_patch({.count = 2})})));
  EXPECT_TRUE(world.run(dry.remove({kNode, same_object(node.meta)})));
  EXPECT_EQ(writes(), 0U);
  EXPECT_TRUE(world.run(dry.list({.resource = Node::resource})));
  EXPECT_TRUE(world.run(dry.watch({.resource = Node::resource, .send_initial_events = true})));
  EXPECT_EQ(api.calls(Verb::list), 1U);
  EXPECT_EQ(api.calls(Verb::watch), 1U);
}

TEST_F(dry_run_api, shows_what_was_written_until_the_object_really_changes) {
  const Node before = read();
  const std::string answer = label("a").value();
  const Node after = read();
  EXPECT_EQ(after.meta.labels.find("zone"), "a");
  EXPECT_NE(after.meta.resource_version, before.meta.resource_version);
  EXPECT_NE(answer.find(after.meta.resource_version), std::string::npos);
  EXPECT_EQ(after.meta.uid, before.meta.uid);

  api.put(Node::resource, R"({"metadata": {"name": "n1", "labels": {"theirs": "b"}}})");
  EXPECT_EQ(read().meta.labels.find("zone"), std::nullopt);
  EXPECT_EQ(read().meta.labels.find("theirs"), "b");
}

TEST_F(dry_run_api, takes_the_second_step_upon_the_first) {
  const Node node = read();
  ASSERT_TRUE(
      patch("status", node_addresses_patch(unchanged(node.meta), {{"InternalIP", "10.0.0.1"}})));
  const Node second = read();
  ASSERT_TRUE(patch("", *node_patch(second, {.provider_id = "x://1",
                                             .removed_taints = {"node.cloudprovider.kubernetes.io/"
                                                                "uninitialized"}})));
  EXPECT_EQ(read().provider_id, "x://1");
  EXPECT_TRUE(read().taints.empty());
  EXPECT_EQ(read().addresses.size(), 1U);
  EXPECT_EQ(api.see(Node::resource, kNode.key).at_pointer("/spec/taints").as_array().size(), 1U);
  EXPECT_EQ(told(), (std::vector<std::string>{
                        R"("would patch" object="nodes/n1" subresource="status" )"
                        R"(patch="{\"status\":{\"addresses\":[{\"type\":\"InternalIP\",)"
                        R"(\"address\":\"10.0.0.1\"}]}}")",
                        R"("would patch" object="nodes/n1" subresource="" )"
                        R"(patch="{\"spec\":{\"providerID\":\"x://1\",\"taints\":null}}")"}));
}

TEST_F(dry_run_api, tells_the_same_wish_once_however_often_the_object_changes_meanwhile) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(label("a"));
    api.put(Node::resource, R"({"metadata": {"name": "n1"}})");
  }
  EXPECT_EQ(log.lines.size(), 1U);
  EXPECT_TRUE(label("b"));
  EXPECT_EQ(log.lines.size(), 2U) << "another wish for the same place";
  api.put(Node::resource, R"({"metadata": {"name": "n1"}})");
  EXPECT_TRUE(label("a"));
  EXPECT_EQ(log.lines.size(), 3U) << "and back again";
}

TEST_F(dry_run_api, a_write_that_changes_nothing_is_none) {
  api.put(Node::resource, R"({"metadata": {"name": "n1", "labels": {"zone": "a"}}})");
  const Node node = read();
  Patch same{PatchType::merge, same_object(node.meta), R"({"metadata":{"labels":{"zone":"a"}}})"};
  EXPECT_TRUE(patch("", same));
  EXPECT_EQ(read().meta.resource_version, node.meta.resource_version);
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(dry_run_api, holds_preconditions_as_a_server_does) {
  const Node old = read();
  ASSERT_TRUE(label("a"));
  EXPECT_EQ(patch("", *node_patch(old, {.provider_id = "x://1"})).outcome(), Outcome::conflict)
      << "decided before the label was there";
  EXPECT_EQ(world.run(dry.remove({kNode, {.uid = "another"}})).outcome(), Outcome::conflict);
  const ObjectName gone{Node::resource, {"", "n2"}};
  EXPECT_EQ(world.run(dry.patch({gone, {}, {}})).outcome(), Outcome::absent);
  EXPECT_EQ(world.run(dry.remove({gone, {.uid = "u"}})).outcome(), Outcome::absent);
  EXPECT_EQ(log.lines.size(), 1U);
}

TEST_F(dry_run_api, reads_back_a_finalizer_and_its_removal) {
  const ObjectName name{Service::resource, {"default", "web"}};
  api.put(Service::resource, R"({"metadata": {"name": "web", "namespace": "default"}})");
  const auto service = [&] {
    std::string text = world.run(dry.get(name)).value();
    return decoder.object<Service>(text).value();
  };
  EXPECT_TRUE(world.run(dry.patch({name, "status", add_finalizer_patch(service().meta, "x/y")})));
  EXPECT_TRUE(service().meta.has_finalizer("x/y"));
  EXPECT_TRUE(
      world.run(dry.patch({name, "status", remove_finalizer_patch(service().meta, "x/y")})));
  EXPECT_FALSE(service().meta.has_finalizer("x/y"));
  EXPECT_EQ(log.lines.size(), 2U);
}

TEST_F(dry_run_api, an_object_that_is_made_is_there_until_somebody_really_makes_it) {
  const ObjectName name{Lease::resource, {"kube-system", "l"}};
  ASSERT_TRUE(world.run(dry.create({name, lease_body(name.key, {.holder = "me"})})));
  EXPECT_NE(world.run(dry.get(name)).value().find("\"me\""), std::string::npos);
  EXPECT_EQ(world.run(dry.create({name, lease_body(name.key, {})})).outcome(), Outcome::conflict);
  api.put(Lease::resource, lease_body(name.key, {.holder = "them"}));
  EXPECT_NE(world.run(dry.get(name)).value().find("\"them\""), std::string::npos);
  EXPECT_EQ(world.run(dry.create({name, lease_body(name.key, {})})).outcome(), Outcome::conflict);
  EXPECT_EQ(log.lines.size(), 1U);
}

TEST_F(dry_run_api, an_event_is_told_in_the_log_by_its_words) {
  const Event event{.meta = {.key = kEvent.key},
                    .involved = {.kind = "Node", .key = kNode.key},
                    .type = std::string(kEventWarning),
                    .reason = "FailedToInitialize",
                    .message = "no machine has this name"};
  EXPECT_TRUE(world.run(dry.create({kEvent, event_body(event)})));
  EXPECT_EQ(told(), (std::vector<std::string>{
                        R"("would tell by an event" object="Node/n1" type="Warning" )"
                        R"(reason="FailedToInitialize" message="no machine has this name")"}));
  EXPECT_EQ(api.calls(Verb::get), 0U) << "a role for events may be without the right to read";
}

TEST_F(dry_run_api, who_writes_without_end_is_sent_back_to_what_is_real) {
  Result<std::string> answer = "";
  int writes_taken = 0;
  while (answer && writes_taken < 1000) {
    answer = label(std::to_string(writes_taken++));
  }
  EXPECT_EQ(answer.outcome(), Outcome::conflict);
  EXPECT_LT(writes_taken, 100);
  EXPECT_EQ(read().meta.labels.find("zone"), std::nullopt);
  EXPECT_TRUE(label("again"));
}

TEST_F(dry_run_api, what_cannot_be_read_is_no_answer_to_a_write) {
  api.inject({.verb = Verb::get, .error = {Outcome::denied, "403"}});
  EXPECT_EQ(world.run(dry.patch({kNode, {}, {}})).outcome(), Outcome::denied);
  api.inject({.verb = Verb::get, .error = {Outcome::lost, "cut"}});
  EXPECT_EQ(world.run(dry.remove({kNode, {.uid = "u"}})).outcome(), Outcome::lost);
  EXPECT_TRUE(log.lines.empty());
}

}  // namespace
}  // namespace isthmus::kube
