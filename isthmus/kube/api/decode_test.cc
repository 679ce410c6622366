// Single objects: what is kept of each type, and what is said about those that cannot be read.
#include "isthmus/kube/api/decode.h"

#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

constexpr std::string_view kNode = R"({
  "kind": "Node", "apiVersion": "v1",
  "metadata": {
    "name": "node1", "uid": "98daa4dd", "resourceVersion": "213", "generation": 4,
    "creationTimestamp": "2026-11-29T21:09:45Z", "deletionTimestamp": "2026-11-29T21:10:00Z",
    "labels": {"kubernetes.io/hostname": "node1", "rack": "r\u00e47"},
    "annotations": {"alpha.kubernetes.io/provided-node-ip": "10.0.0.1",
                    "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    "finalizers": ["a.b/c"],
    "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}]},
  "spec": {
    "podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24", "2001:db8::/64"],
    "providerID": "isthmus://m1", "unschedulable": true,
    "taints": [{"key": "a", "value": "true", "effect": "NoSchedule"},
               {"key": "b", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]},
  "status": {
    "capacity": {"cpu": "4"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok",
                    "lastHeartbeatTime": null}],
    "addresses": [{"type": "InternalIP", "address": "10.0.0.2"},
                  {"type": "InternalIP", "address": "10.0.0.1"},
                  {"type": "Hostname", "address": "node1"}],
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    "nodeInfo": {"machineID": "m", "systemUUID": "4C4C4544"},
    "images": [{"names": ["x"], "sizeBytes": 1}]}})";

Result<Node> node_of(std::string text) { return Decoder().object<Node>(text); }

// The node above with one piece of its text exchanged.
Result<Node> node_with(std::string_view piece, std::string_view replacement) {
  std::string text(kNode);
  const std::size_t place = text.find(piece);
  EXPECT_NE(place, std::string::npos) << piece;
  text.replace(place, piece.size(), replacement);
  return node_of(text);
}

TEST(node_decoder, keeps_what_clouds_look_at) {
  const Result<Node> node = node_of(std::string(kNode));

  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->meta.key, (ObjectKey{"", "node1"}));
  EXPECT_EQ(node->meta.uid, "98daa4dd");
  EXPECT_EQ(node->meta.resource_version, "213");
  EXPECT_EQ(node->meta.generation, 4);
  EXPECT_EQ(rfc3339(node->meta.creation_time), "2026-11-29T21:09:45Z");
  ASSERT_TRUE(node->meta.deletion_time.has_value());
  EXPECT_EQ(rfc3339(*node->meta.deletion_time), "2026-11-29T21:10:00Z");
  EXPECT_EQ(node->meta.labels, (StringMap{{"kubernetes.io/hostname", "node1"}, {"rack", "rä7"}}));
  EXPECT_TRUE(node->meta.has_finalizer("a.b/c"));
  EXPECT_FALSE(node->meta.has_finalizer("a.b"));

  EXPECT_EQ(node->provider_id, "isthmus://m1");
  EXPECT_EQ(node->pod_cidrs, (std::vector<std::string>{"10.1.0.0/24", "2001:db8::/64"}));
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->taints,
            (std::vector<Taint>{
                {.key = "a", .value = "true", .effect = "NoSchedule"},
                {.key = "b", .effect = "NoExecute", .time_added = "2026-01-01T00:00:00Z"}}));
  EXPECT_EQ(node->addresses,
            (std::vector<NodeAddress>{
                {"InternalIP", "10.0.0.2"}, {"InternalIP", "10.0.0.1"}, {"Hostname", "node1"}}));
  EXPECT_EQ(node->conditions, (std::vector<NodeCondition>{{"Ready", "True", "KubeletReady"}}));
  EXPECT_EQ(node->find_condition("Ready")->status, "True");
  EXPECT_EQ(node->find_condition("Other"), nullptr);
  EXPECT_EQ(node->system_uuid, "4C4C4544");
  EXPECT_EQ(node->kubelet_port, 10250);
}

TEST(node_metadata_decoder, keeps_what_a_patch_that_asked_for_no_more_is_answered) {
  std::string text = R"({
    "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
    "metadata": {"name": "node1", "uid": "98daa4dd", "resourceVersion": "214",
                 "labels": {"rack": "7"}}})";
  const Result<NodeMetadata> node = Decoder().object<NodeMetadata>(text, {"", "node1"});
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->meta.resource_version, "214");
  EXPECT_EQ(node->meta.labels, (StringMap{{"rack", "7"}}));
  std::string whole(kNode);
  EXPECT_EQ(Decoder().object<NodeMetadata>(whole).outcome(), Outcome::lost);
}

TEST(node_decoder, keeps_the_annotations_of_its_projection) {
  Decoder all_but_last_applied;
  Decoder none(Projection{.keeps_annotation = [](std::string_view) { return false; }});
  std::string text(kNode);

  Result<Node> node = all_but_last_applied.object<Node>(text);
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->meta.annotations,
            (StringMap{{"alpha.kubernetes.io/provided-node-ip", "10.0.0.1"}}));

  node = none.object<Node>(text);
  ASSERT_TRUE(node.has_value());
  EXPECT_TRUE(node->meta.annotations.empty());
}

TEST(node_decoder, keeps_a_taint_with_unknown_fields_as_it_came) {
  const Result<Node> node =
      node_with(R"("value": "true")", R"("value": "true", "newer": {"x": [1, "}"]} )");

  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->taints[0].raw,
            R"({"key": "a", "value": "true", "newer": {"x": [1, "}"]} , "effect": "NoSchedule"})");
  EXPECT_EQ(node->taints[0].effect, "NoSchedule");
  EXPECT_EQ(node->taints[1].raw, "");
}

TEST(node_decoder, a_taint_that_could_not_be_sent_back_is_not_json) {
  const Result<Node> node = node_with(R"("value": "true")", R"("value": "true", "newer": tru)");

  EXPECT_EQ(node.outcome(), Outcome::lost);
}

TEST(node_decoder, null_and_absent_are_the_same) {
  const Result<Node> node = node_of(R"({"kind":"Node","apiVersion":"v1",
      "metadata":{"name":"n","uid":"u","resourceVersion":"1",
                  "creationTimestamp":null,"labels":null},
      "spec":{"taints":null,"providerID":null,"unschedulable":null},"status":null})");
  const Result<Node> bare = node_of(R"({"kind":"Node","apiVersion":"v1",
      "metadata":{"name":"n","uid":"u","resourceVersion":"1"}})");

  ASSERT_TRUE(node.has_value()) << node.error().message;
  ASSERT_TRUE(bare.has_value()) << bare.error().message;
  EXPECT_EQ(*node, *bare);
}

TEST(node_decoder, an_answer_about_another_node_than_asked_for_is_lost) {
  std::string text = R"({"kind":"Node","apiVersion":"v1",
      "metadata":{"name":"n","uid":"u","resourceVersion":"1"}})";

  EXPECT_TRUE(Decoder().object<Node>(text, {.name = "n"}).has_value());
  const Result<Node> other = Decoder().object<Node>(text, {.name = "m"});
  ASSERT_EQ(other.outcome(), Outcome::lost);
  EXPECT_EQ(other.error().message, "Node m expected: the answer is about n");
}

TEST(node_decoder, the_order_of_fields_does_not_matter) {
  const Result<Node> node = node_of(R"({"status":{"nodeInfo":{"systemUUID":"s"}},
      "metadata":{"resourceVersion":"1","uid":"u","name":"n"},"apiVersion":"v1","kind":"Node"})");

  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->system_uuid, "s");
}

TEST(node_decoder, a_repeated_key_counts_the_last_time) {
  const Result<Node> node = node_of(R"({"kind":"Node","apiVersion":"v1",
      "metadata":{"name":"x","uid":"u","resourceVersion":"1","name":"n",
                  "labels":{"a":"1"},"labels":{"b":"1","b":"2"}},
      "spec":{"taints":[{"key":"a"}],"taints":[{"key":"b"}]}})");

  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->meta.key.name, "n");
  EXPECT_EQ(node->meta.labels, (StringMap{{"b", "2"}}));
  EXPECT_EQ(node->taints, (std::vector<Taint>{{.key = "b"}}));
}

TEST(node_decoder, says_which_field_is_of_the_wrong_type) {
  struct {
    const char* piece;
    const char* replacement;
    const char* complaint;
  } const table[] = {
      {R"("generation": 4)", R"("generation": "4")", "metadata.generation: not a whole number"},
      {R"("generation": 4)", R"("generation": 4.5)", "metadata.generation: not a whole number"},
      {R"("generation": 4)", R"("generation": 1e400)", "metadata.generation: not a whole number"},
      {R"("generation": 4)", R"("generation": 99999999999999999999)",
       "metadata.generation: not a whole number"},
      {R"("Port": 10250)", R"("Port": 4294967296)",
       "status.daemonEndpoints.kubeletEndpoint.Port: out of range"},
      {R"("rack": "r\u00e47")", R"("rack": 7)", "metadata.labels.rack: not a string"},
      {R"("labels": {)", R"("labels": [], "x": {)", "metadata.labels: not an object"},
      {R"("finalizers": ["a.b/c"])", R"("finalizers": "a.b/c")",
       "metadata.finalizers: not an array"},
      {R"(["a.b/c"])", R"(["a.b/c", {}])", "metadata.finalizers[1]: not a string"},
      {R"("2026-11-29T21:09:45Z")", R"("yesterday")",
       "metadata.creationTimestamp: not an RFC 3339 time"},
      {R"("2026-11-29T21:10:00Z")", R"(1)", "metadata.deletionTimestamp: not a string"},
      {R"("unschedulable": true)", R"("unschedulable": "true")",
       "spec.unschedulable: not true or false"},
      {R"("taints": [{)", R"("taints": {"x": [{}]}, "y": [{)", "spec.taints: not an array"},
      {R"("taints": [{)", R"("taints": [5, {)", "spec.taints[0]: not an object"},
      {R"("key": "b")", R"("key": ["b"])", "spec.taints[1].key: not a string"},
      {R"("type": "Hostname")", R"("type": {"a": 1})", "status.addresses[2].type: not a string"},
      {R"("uid": "98daa4dd")", R"("uid": "")", "metadata.uid: missing"},
      {R"("resourceVersion": "213")", R"("resourceVersion": 213)",
       "metadata.resourceVersion: not a string"},
      {R"("nodeInfo": {)", R"("nodeInfo": "x", "y": {)", "status.nodeInfo: not an object"},
  };
  for (const auto& row : table) {
    const Result<Node> node = node_with(row.piece, row.replacement);
    ASSERT_EQ(node.outcome(), Outcome::lost) << row.replacement;
    EXPECT_EQ(node.error().message, std::string("Node node1 is unreadable: ") + row.complaint);
  }
}

TEST(node_decoder, another_kind_is_not_an_answer) {
  EXPECT_EQ(node_of(R"({"kind":"Pod","apiVersion":"v1"})").error().message,
            R"(Node expected: it is of kind "Pod" in "v1"; the answer begins )"
            R"("{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}")");
  EXPECT_EQ(node_with(R"("kind": "Node")", R"("kind": "Pod")").outcome(), Outcome::lost);
  EXPECT_EQ(node_with(R"("apiVersion": "v1")", R"("apiVersion": "v2")").outcome(), Outcome::lost);
  EXPECT_EQ(node_with(R"("kind": "Node", )", "").outcome(), Outcome::lost);
  EXPECT_EQ(node_of(R"({"kind":"Status","apiVersion":"v1","status":"Success"})").outcome(),
            Outcome::lost);
}

TEST(node_decoder, what_is_not_a_json_object_is_lost) {
  for (const char* text : {"",
                           " ",
                           "null",
                           "5",
                           "\"Node\"",
                           "[]",
                           "{}",
                           "[{}]",
                           "{",
                           "}",
                           "{\"kind\"",
                           "nonsense",
                           "<html><body>502 Bad Gateway</body></html>",
                           "{\"kind\":\"Node\",}",
                           "{'kind':'Node'}",
                           "{\"kind\":\"Node\\q\"}",
                           "\xef\xbb\xbf",
                           "{\"kind\":\"\xff\"}",
                           "{\"a\":1}{\"b\":2}",
                           "{\"kind\":\"No\nde\"}"}) {
    const Result<Node> node = node_of(text);
    EXPECT_EQ(node.outcome(), Outcome::lost) << text;
    EXPECT_TRUE(node.error().message.starts_with("Node expected: ")) << node.error().message;
  }
  EXPECT_EQ(node_of(std::string(kNode) + "x").outcome(), Outcome::lost);
  EXPECT_EQ(node_of(std::string(kNode) + std::string(kNode)).outcome(), Outcome::lost);
}

TEST(node_decoder, a_node_cut_short_anywhere_is_lost) {
  for (std::size_t length = 0; length < kNode.size(); ++length) {
    const Result<Node> node = node_of(std::string(kNode.substr(0, length)));
    EXPECT_EQ(node.outcome(), Outcome::lost) << length;
  }
}

TEST(node_decoder, depth_is_no_danger) {
  const std::string deep(200'000, '[');
  const std::string closed = deep + std::string(deep.size(), ']');

  EXPECT_EQ(node_of(deep).outcome(), Outcome::lost);
  EXPECT_EQ(node_with(R"("uid": "98daa4dd")", R"("uid": )" + deep).outcome(), Outcome::lost);
  EXPECT_EQ(node_with(R"("uid": "98daa4dd")", R"("uid": )" + closed).outcome(), Outcome::lost);
  EXPECT_TRUE(node_with(R"("images": [)", R"("deep": )" + closed + R"(, "images": [)").has_value());
}

TEST(service_decoder, keeps_what_load_balancers_depend_on) {
  std::string text = R"({"kind": "Service", "apiVersion": "v1",
    "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "5",
                 "annotations": {"isthmus.dev/pool": "public"}},
    "spec": {"type": "LoadBalancer", "loadBalancerClass": "isthmus.dev/lb",
      "loadBalancerIP": "192.0.2.7", "loadBalancerSourceRanges": ["10.0.0.0/8"],
      "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080,
                 "nodePort": 30080, "appProtocol": "http"},
                {"name": "dns", "protocol": "UDP", "port": 53, "targetPort": "dns"}],
      "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"], "externalIPs": ["198.51.100.1"],
      "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "externalTrafficPolicy": "Local",
      "internalTrafficPolicy": "Cluster", "healthCheckNodePort": 31000,
      "sessionAffinity": "ClientIP",
      "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
      "allocateLoadBalancerNodePorts": false, "publishNotReadyAddresses": true},
    "status": {"loadBalancer": {"ingress": [
      {"ip": "192.0.2.7", "ipMode": "VIP", "ports": [{"port": 80, "protocol": "TCP"}]},
      {"hostname": "lb.example"}]}}})";

  const Result<Service> service = Decoder().object<Service>(text);

  ASSERT_TRUE(service.has_value()) << service.error().message;
  Service expected{
      .meta = {.key = {"shop", "web"},
               .uid = "u",
               .resource_version = "5",
               .annotations = {{"isthmus.dev/pool", "public"}}},
      .type = "LoadBalancer",
      .load_balancer_class = "isthmus.dev/lb",
      .load_balancer_ip = "192.0.2.7",
      .load_balancer_source_ranges = {"10.0.0.0/8"},
      .ports = {{"http", "TCP", 80, 30080, "8080", "http"}, {"dns", "UDP", 53, 0, "dns", ""}},
      .cluster_ips = {"10.96.0.9"},
      .external_ips = {"198.51.100.1"},
      .ip_families = {"IPv4"},
      .ip_family_policy = "SingleStack",
      .external_traffic_policy = "Local",
      .internal_traffic_policy = "Cluster",
      .health_check_node_port = 31000,
      .session_affinity = "ClientIP",
      .session_affinity_seconds = 10800,
      .allocate_node_ports = false,
      .publish_not_ready_addresses = true,
      .ingress = {{.ip = "192.0.2.7", .ip_mode = "VIP", .ports = {{80, "TCP", ""}}},
                  {.hostname = "lb.example"}}};
  EXPECT_EQ(*service, expected);
}

TEST(service_decoder, without_a_namespace_there_is_no_key) {
  std::string text = R"({"kind":"Service","apiVersion":"v1",
      "metadata":{"name":"web","uid":"u","resourceVersion":"5"}})";

  EXPECT_EQ(Decoder().object<Service>(text).outcome(), Outcome::lost);
}

TEST(lease_decoder, keeps_the_times_as_text) {
  std::string text = R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1",
      "metadata":{"name":"ccm","namespace":"kube-system","uid":"u","resourceVersion":"5"},
      "spec":{"holderIdentity":"me","leaseDurationSeconds":15,"leaseTransitions":2,
              "acquireTime":"2026-11-29T20:47:43.000001Z","renewTime":"2026-11-29T20:47:44.1Z"}})";

  const Result<Lease> lease = Decoder().object<Lease>(text);

  ASSERT_TRUE(lease.has_value()) << lease.error().message;
  EXPECT_EQ(lease->spec,
            (LeaseSpec{"me", 15, "2026-11-29T20:47:43.000001Z", "2026-11-29T20:47:44.1Z", 2}));
}

TEST(config_map_decoder, keeps_its_texts_and_what_is_binary_decoded) {
  std::string text = R"({"kind":"ConfigMap","apiVersion":"v1",
      "metadata":{"name":"c","namespace":"kube-system","uid":"u","resourceVersion":"5"},
      "data":{"a":"1","b":""},"binaryData":{"x":"dHJ1ZQ==","y":"//4A"},"immutable":true})";
  const Result<ConfigMap> config = Decoder().object<ConfigMap>(text);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->data,
            (StringMap{{"a", "1"}, {"b", ""}, {"x", "true"}, {"y", std::string("\xff\xfe\0", 3)}}));
}

TEST(config_map_decoder, keeps_both_whichever_comes_first) {
  std::string text = R"({"kind":"ConfigMap","apiVersion":"v1","binaryData":{"x":"dHJ1ZQ=="},
      "data":{"a":"1"},
      "metadata":{"name":"c","namespace":"kube-system","uid":"u","resourceVersion":"5"}})";
  const Result<ConfigMap> config = Decoder().object<ConfigMap>(text);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->data, (StringMap{{"a", "1"}, {"x", "true"}}));
}

TEST(config_map_decoder, a_binary_value_that_is_no_base64_makes_it_unreadable) {
  std::string text = R"({"kind":"ConfigMap","apiVersion":"v1",
      "metadata":{"name":"c","namespace":"kube-system","uid":"u","resourceVersion":"5"},
      "binaryData":{"x":"true!"}})";
  const Result<ConfigMap> config = Decoder().object<ConfigMap>(text);
  ASSERT_EQ(config.outcome(), Outcome::lost);
  EXPECT_NE(config.error().message.find("binaryData.x: is not base64"), std::string::npos)
      << config.error().message;
}

TEST(config_map_decoder, a_value_that_is_no_text_makes_it_unreadable) {
  std::string text = R"({"kind":"ConfigMap","apiVersion":"v1",
      "metadata":{"name":"c","namespace":"kube-system","uid":"u","resourceVersion":"5"},
      "data":{"a":true}})";
  const Result<ConfigMap> config = Decoder().object<ConfigMap>(text);
  ASSERT_EQ(config.outcome(), Outcome::lost);
  EXPECT_NE(config.error().message.find("data.a"), std::string::npos) << config.error().message;
}

TEST(namespace_decoder, reads_the_uid) {
  std::string text = R"({"kind":"Namespace","apiVersion":"v1",
      "metadata":{"name":"kube-system","uid":"u","resourceVersion":"5"}})";

  const Result<Namespace> name_space = Decoder().object<Namespace>(text);

  ASSERT_TRUE(name_space.has_value()) << name_space.error().message;
  EXPECT_EQ(name_space->meta.uid, "u");
}

TEST(status_decoder, reads_a_refusal) {
  std::string text = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
      "message":"nodes \"n\" not found","reason":"NotFound","code":404,
      "details":{"name":"n","group":"g","kind":"nodes","uid":"u","retryAfterSeconds":3,
        "causes":[{"reason":"ResourceVersionTooLarge","message":"m","field":"f"}]}})";

  const Result<Status> status = Decoder().status(text);

  ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(*status, (Status{.status = "Failure",
                             .reason = "NotFound",
                             .message = "nodes \"n\" not found",
                             .code = 404,
                             .name = "n",
                             .group = "g",
                             .kind = "nodes",
                             .uid = "u",
                             .causes = {{"ResourceVersionTooLarge", "m", "f"}},
                             .retry_after = std::chrono::seconds(3)}));
  EXPECT_TRUE(status->has_cause("ResourceVersionTooLarge"));
  EXPECT_FALSE(status->has_cause("FieldValueInvalid"));
}

TEST(status_decoder, what_is_no_status_says_nothing_about_an_object) {
  for (std::string text :
       {"404 page not found", "<html>404</html>", "{}", "", R"({"kind":"Node","apiVersion":"v1"})",
        R"({"code":404})", R"({"kind":"Status","apiVersion":"v1","code":"404"})"}) {
    EXPECT_EQ(Decoder().status(text).outcome(), Outcome::lost) << text;
  }
}

}  // namespace
}  // namespace isthmus::kube
