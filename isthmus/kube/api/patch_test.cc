#include "isthmus/kube/api/patch.h"

#include <gtest/gtest.h>

#include "isthmus/base/json.h"
#include "isthmus/kube/api/decode.h"

namespace isthmus::kube {
namespace {

constexpr std::string_view kUninitialized = "node.cloudprovider.kubernetes.io/uninitialized";

// RFC 7386, section 2: what a server makes of a merge patch.
json::value merged(json::value target, const json::value& patch) {
  if (!patch.is_object()) return patch;
  if (!target.is_object()) target = json::object();
  for (const auto& [key, value] : patch.as_object()) {
    if (value.is_null()) {
      target.as_object().erase(key);
    } else {
      json::value& place = target.as_object()[key];
      place = merged(place, value);
    }
  }
  return target;
}

Node decoded(const json::value& document) {
  std::string text = compact_json(document);
  Result<Node> node = Decoder().object<Node>(text);
  EXPECT_TRUE(node.has_value()) << (node ? "" : node.error().message);
  return node.value_or(Node{});
}

const json::value kTaintedNode = json::parse(R"({
  "apiVersion": "v1", "kind": "Node",
  "metadata": {"name": "node1", "uid": "u1", "resourceVersion": "41",
               "labels": {"kubernetes.io/os": "linux", "rack": "6", "old": "x"}},
  "spec": {"taints": [
    {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true",
     "effect": "NoSchedule"},
    {"key": "foreign", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
    {"key": "newer", "effect": "NoSchedule", "tolerance": {"seconds": 5}}]},
  "status": {"nodeInfo": {"systemUUID": "s1"}}})");

TEST(node_patch, is_known_in_its_effect_but_for_the_metadata) {
  const Node seen = decoded(kTaintedNode);
  const NodeChange change{.labels = {{"rack", "7"}},
                          .provider_id = "isthmus://m1",
                          .removed_taints = {std::string(kUninitialized)}};
  const Node there = decoded(merged(kTaintedNode, json::parse(node_patch(seen, change)->body)));

  Node here = changed(seen, change);
  here.meta = there.meta;
  EXPECT_EQ(here, there);
  EXPECT_EQ(changed(seen, {.labels = {{"rack", "7"}}}), seen);
}

TEST(node_patch, initializes_a_node_in_one_patch_and_touches_nothing_else) {
  const Node seen = decoded(kTaintedNode);

  const std::optional<Patch> patch =
      node_patch(seen, {.labels = {{"rack", "7"}, {"kubernetes.io/os", "linux"}},
                        .removed_labels = {"old", "never-there"},
                        .provider_id = "isthmus://m1",
                        .removed_taints = {std::string(kUninitialized)}});

  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(patch->type, PatchType::merge);
  EXPECT_EQ(json::parse(patch->body), json::parse(R"({
    "metadata": {"uid": "u1", "resourceVersion": "41", "labels": {"rack": "7", "old": null}},
    "spec": {"providerID": "isthmus://m1", "taints": [
      {"key": "foreign", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
      {"key": "newer", "effect": "NoSchedule", "tolerance": {"seconds": 5}}]}})"));

  const Node after = decoded(merged(kTaintedNode, json::parse(patch->body)));
  EXPECT_EQ(after.provider_id, "isthmus://m1");
  EXPECT_EQ(after.find_taint(kUninitialized), nullptr);
  EXPECT_EQ(after.meta.labels, (StringMap{{"kubernetes.io/os", "linux"}, {"rack", "7"}}));
  EXPECT_EQ(after.system_uuid, "s1");
}

TEST(node_patch, is_not_needed_when_the_node_is_as_wanted) {
  const Node seen = decoded(kTaintedNode);

  EXPECT_EQ(node_patch(seen, {}), std::nullopt);
  EXPECT_EQ(node_patch(seen, {.labels = {{"rack", "6"}},
                              .removed_labels = {"gone"},
                              .removed_taints = {"unheard-of"},
                              .added_taints = {{.key = "foreign", .effect = "NoExecute"}}}),
            std::nullopt);
}

TEST(node_patch, carries_the_version_that_it_was_thought_out_for) {
  const std::optional<Patch> patch = node_patch(decoded(kTaintedNode), {.labels = {{"rack", "7"}}});

  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(patch->precondition, (Precondition{"u1", "41"}));
  EXPECT_EQ(patch->body,
            R"({"metadata":{"uid":"u1","resourceVersion":"41","labels":{"rack":"7"}}})");
}

TEST(node_patch, removing_the_last_taint_removes_the_list) {
  const Node seen{
      .meta = {.key = {"", "n"}, .uid = "u", .resource_version = "1"},
      .taints = {{.key = "a", .effect = "NoSchedule"}, {.key = "a", .effect = "NoExecute"}}};

  const std::optional<Patch> patch = node_patch(seen, {.removed_taints = {"a"}});

  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(patch->body,
            R"({"metadata":{"uid":"u","resourceVersion":"1"},"spec":{"taints":null}})");
}

TEST(node_patch, an_added_taint_takes_the_place_of_its_like) {
  const Node seen{.meta = {.key = {"", "n"}, .uid = "u", .resource_version = "1"},
                  .taints = {{.key = "a", .value = "old", .effect = "NoSchedule"},
                             {.key = "b", .effect = "NoSchedule"}}};

  const std::optional<Patch> patch =
      node_patch(seen, {.added_taints = {{.key = "a", .value = "new", .effect = "NoSchedule"},
                                         {.key = "a", .value = "new", .effect = "NoExecute"}}});

  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(json::parse(patch->body).at("spec"),
            json::parse(R"({"taints": [{"key": "a", "effect": "NoSchedule", "value": "new"},
                                       {"key": "b", "effect": "NoSchedule"},
                                       {"key": "a", "effect": "NoExecute", "value": "new"}]})"));
}

TEST(node_patch, writes_annotations_it_was_asked_for) {
  const Node seen{.meta = {.key = {"", "n"},
                           .uid = "u",
                           .resource_version = "1",
                           .annotations = {{"isthmus.dev/labels", "a"}, {"isthmus.dev/x", "1"}}}};

  const std::optional<Patch> patch =
      node_patch(seen, {.annotations = {{"isthmus.dev/labels", "a,b"}},
                        .removed_annotations = {"isthmus.dev/x", "isthmus.dev/y"}});

  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(patch->body, R"({"metadata":{"uid":"u","resourceVersion":"1","annotations":)"
                         R"({"isthmus.dev/labels":"a,b","isthmus.dev/x":null}}})");
}

TEST(node_addresses_patch, replaces_the_list_in_its_exact_order) {
  const Patch patch = node_addresses_patch(
      {"u", "9"}, {{"InternalIP", "10.0.0.2"}, {"InternalIP", "10.0.0.1"}, {"Hostname", "n"}});

  EXPECT_EQ(patch.type, PatchType::merge);
  EXPECT_EQ(
      patch.body,
      R"({"metadata":{"uid":"u","resourceVersion":"9"},"status":{"addresses":[)"
      R"({"type":"InternalIP","address":"10.0.0.2"},{"type":"InternalIP","address":"10.0.0.1"},)"
      R"({"type":"Hostname","address":"n"}]}})");
}

TEST(node_condition_patch, names_one_condition_and_only_the_uid) {
  const Patch patch = node_condition_patch(
      {"u", ""},
      {"NetworkUnavailable", "False", "RouteCreated", "made", "2026-01-01T00:00:00Z", ""});

  EXPECT_EQ(patch.type, PatchType::strategic_merge);
  EXPECT_EQ(json::parse(patch.body),
            json::parse(R"({"metadata": {"uid": "u"}, "status": {"conditions": [
    {"type": "NetworkUnavailable", "status": "False", "reason": "RouteCreated", "message": "made",
     "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}})"));
}

TEST(service_ingress_patch, writes_or_clears_the_list) {
  EXPECT_EQ(service_ingress_patch({"u", "3"}, {{.ip = "192.0.2.1", .ip_mode = "Proxy"},
                                               {.hostname = "lb.example",
                                                .ports = {{80, "TCP", ""}, {81, "UDP", "Down"}}}})
                .body,
            R"({"metadata":{"uid":"u","resourceVersion":"3"},"status":{"loadBalancer":{"ingress":[)"
            R"({"ip":"192.0.2.1","ipMode":"Proxy"},{"hostname":"lb.example","ports":[)"
            R"({"port":80,"protocol":"TCP"},{"port":81,"protocol":"UDP","error":"Down"}]}]}}})");
  EXPECT_EQ(service_ingress_patch({"u", ""}, {}).body,
            R"({"metadata":{"uid":"u"},"status":{"loadBalancer":{"ingress":null}}})");
}

TEST(finalizer_patch, names_one_finalizer_and_no_version) {
  const ObjectMeta meta{.uid = "u", .resource_version = "3", .finalizers = {"foreign"}};

  EXPECT_EQ(add_finalizer_patch(meta, "x.io/y").body,
            R"({"metadata":{"uid":"u","finalizers":["x.io/y"]}})");
  EXPECT_EQ(remove_finalizer_patch(meta, "x.io/y").body,
            R"({"metadata":{"uid":"u","$deleteFromPrimitiveList/finalizers":["x.io/y"]}})");
  EXPECT_EQ(add_finalizer_patch(meta, "x.io/y").type, PatchType::strategic_merge);
  EXPECT_EQ(add_finalizer_patch(meta, "x.io/y").precondition, (Precondition{"u", ""}));
}

TEST(lease_body, says_all_that_a_new_lease_has) {
  const std::string now = "2026-11-29T20:47:43.000000Z";

  EXPECT_EQ(lease_body({"kube-system", "ccm"}, {"me", 15, now, now, 0}),
            R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"ccm",)"
            R"("namespace":"kube-system"},"spec":{"holderIdentity":"me","leaseDurationSeconds":15,)"
            R"("acquireTime":"2026-11-29T20:47:43.000000Z",)"
            R"("renewTime":"2026-11-29T20:47:43.000000Z","leaseTransitions":0}})");
}

TEST(lease_update, keeps_what_others_wrote_and_what_it_does_not_know) {
  std::string text = R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","later":[1.5],)"
                     R"("metadata":{"name":"ccm","namespace":"kube-system","uid":"u",)"
                     R"("resourceVersion":"8","labels":{"a":"b"}},)"
                     R"("spec":{"holderIdentity":"me","strategy":"Oldest","leaseTransitions":2}})";
  const Result<Lease> seen = Decoder().object<Lease>(text);
  ASSERT_TRUE(seen);
  const Result<Patch> update = lease_update(*seen, {"", 1, "", "2026-11-29T20:47:43.000000Z", 3});
  ASSERT_TRUE(update);
  EXPECT_EQ(update->type, PatchType::whole);
  EXPECT_EQ(update->precondition, (Precondition{"u", "8"}));
  json::value expected = json::parse(text);
  json::object& spec = expected.at("spec").as_object();
  spec["holderIdentity"] = "";
  spec["leaseDurationSeconds"] = 1;
  spec["acquireTime"] = nullptr;
  spec["renewTime"] = "2026-11-29T20:47:43.000000Z";
  spec["leaseTransitions"] = 3;
  EXPECT_EQ(json::parse(update->body), expected);
}

TEST(lease_update, does_not_send_back_what_is_no_json) {
  std::string text = R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","later":tru,)"
                     R"("metadata":{"name":"c","namespace":"n","uid":"u","resourceVersion":"8"}})";
  const Result<Lease> seen = Decoder().object<Lease>(text);
  ASSERT_TRUE(seen);
  EXPECT_EQ(lease_update(*seen, {}).outcome(), Outcome::lost);
}

TEST(lease_update_death, without_a_version_is_a_bug) {
  EXPECT_DEATH((void)lease_update({.document = "{}"}, {}), "two could lead");
}

const Event kEvent{.meta = {.key = {"default", "node1.17a"}},
                   .involved = {"v1", "Node", {"", "node1"}, "u1", ""},
                   .type = "Warning",
                   .reason = "FailedToInitialize",
                   .message = "two machines match: \"a\" and \"b\"",
                   .component = "cloud-node-controller",
                   .first_time = "2026-01-01T00:00:00Z",
                   .last_time = "2026-01-01T00:00:05Z",
                   .count = 2};

TEST(event_bodies, create_reads_back_as_the_same_event) {
  json::value document = json::parse(event_body(kEvent));
  EXPECT_EQ(document.at("reportingComponent"), "cloud-node-controller");
  document.at("metadata").as_object()["uid"] = "e1";
  document.at("metadata").as_object()["resourceVersion"] = "5";
  std::string text = compact_json(document);

  Result<Event> event = Decoder().object<Event>(text);

  ASSERT_TRUE(event.has_value()) << event.error().message;
  event->meta.uid.clear();
  event->meta.resource_version.clear();
  EXPECT_EQ(*event, kEvent);
}

TEST(event_bodies, a_patch_counts) {
  Event event = kEvent;
  EXPECT_EQ(event_patch(event).body, R"({"count":2,"lastTimestamp":"2026-01-01T00:00:05Z",)"
                                     R"("message":"two machines match: \"a\" and \"b\""})");
  event.meta.uid = "e1";
  EXPECT_EQ(event_patch(event).precondition, (Precondition{"e1", ""}));
  EXPECT_EQ(json::parse(event_patch(event).body).at("metadata"), json::parse(R"({"uid": "e1"})"));
}

TEST(delete_options, carry_what_was_seen) {
  EXPECT_EQ(delete_options_body({"u", ""}),
            R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}})");
}

TEST(content_type, is_the_one_of_the_patch) {
  EXPECT_EQ(content_type(PatchType::merge), "application/merge-patch+json");
  EXPECT_EQ(content_type(PatchType::strategic_merge), "application/strategic-merge-patch+json");
  EXPECT_EQ(content_type(PatchType::json), "application/json-patch+json");
}

}  // namespace
}  // namespace isthmus::kube
