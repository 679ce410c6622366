#include "isthmus/controllers/service_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service_plan_testing.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::controllers {
namespace {

using testing::annotated;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ip;
using ::testing::IsEmpty;
using testing::notices_of;
using ::testing::Pair;
using testing::range;
using testing::refusal_of;
using testing::service;
using testing::spec_of;
using Spec = cloud::LoadBalancerSpec;

EnsureService ensure(const kube::Service& service, ServicePlanOptions options = {},
                     NodeHealth automatic = NodeHealth::kube_proxy) {
  const EligibleNodes nodes = testing::two_nodes();
  ServiceSurroundings surroundings = testing::surroundings(nodes);
  surroundings.automatic = automatic;
  return testing::as<EnsureService>(plan_service(service, options, surroundings));
}

kube::Service with_ports(std::vector<kube::ServicePort> ports) {
  kube::Service changed = service();
  changed.ports = std::move(ports);
  return changed;
}

// `count` ports, TCP from 1 and node ports from 30001.
kube::Service with_many_ports(int count) {
  std::vector<kube::ServicePort> ports;
  for (int i = 1; i <= count; ++i) {
    ports.push_back({.name = "p" + std::to_string(i), .port = i, .node_port = 30000 + i});
  }
  return with_ports(std::move(ports));
}

TEST(service_spec, of_a_service_without_wishes_is_all_defaults) {
  const Spec expected{
      .name = testing::balancer_name(),
      .labels = {{"isthmus.dev/cluster", "11111111-1111-1111-1111-111111111111"},
                 {"isthmus.dev/service-namespace", "shop"},
                 {"isthmus.dev/service-name", "web"},
                 {"isthmus.dev/node-health", "kube-proxy"}},
      .families = {IpFamily::v4},
      .listeners =
          {{.name = "http", .protocol = cloud::Protocol::tcp, .port = 80, .target_port = 30080}},
      .target_set = "nodes-1",
      .health_check = Spec::HealthCheck{.protocol = Spec::HealthCheck::Protocol::http,
                                        .port = 10256,
                                        .http_path = "/healthz"},
  };
  EXPECT_EQ(spec_of(service()), expected);
  EXPECT_THAT(notices_of(service()), IsEmpty());
}

TEST(service_spec, carries_every_wish) {
  kube::Service full = annotated("pool", "public");
  full = annotated("addresses", "192.0.2.1", full);
  full = annotated("source-address", "keep", full);
  full.load_balancer_source_ranges = {"10.0.0.0/8"};
  full.session_affinity = "ClientIP";
  full.session_affinity_seconds = 60;
  const Spec spec = spec_of(full);
  EXPECT_EQ(spec.pool, "public");
  EXPECT_THAT(spec.requested_addresses, ElementsAre(ip("192.0.2.1")));
  EXPECT_EQ(spec.source_address, Spec::SourceAddress::keep);
  EXPECT_THAT(spec.source_ranges, ElementsAre(range("10.0.0.0/8")));
  EXPECT_EQ(spec.affinity, Spec::Affinity::client_ip);
}

TEST(service_spec, prefers_what_the_status_holds) {
  kube::Service moved = service();
  moved.ingress = {{.ip = "192.0.2.7", .ip_mode = "VIP"}};
  EXPECT_THAT(spec_of(moved).preferred_addresses, ElementsAre(ip("192.0.2.7")));
}

TEST(service_spec, names_targets_inline_where_the_cloud_has_no_sets) {
  const EligibleNodes nodes = testing::two_nodes();
  ServiceSurroundings inline_targets = testing::surroundings(nodes);
  inline_targets.target_set.clear();
  const auto made = testing::as<EnsureService>(plan_service(service(), {}, inline_targets));
  EXPECT_EQ(made.spec.target_set, "");
  EXPECT_EQ(made.spec.targets, nodes.targets);
  EXPECT_THAT(spec_of(service()).targets, IsEmpty());
}

TEST(service_spec, has_a_listener_per_port_that_is_called_like_it) {
  const Spec spec = spec_of(with_ports({
      {.name = "dns", .protocol = "UDP", .port = 53, .node_port = 30053},
      {.name = "dns-tcp", .protocol = "TCP", .port = 53, .node_port = 30054},
  }));
  EXPECT_THAT(spec.listeners,
              ElementsAre(Spec::Listener{"dns", cloud::Protocol::udp, 53, 30053},
                          Spec::Listener{"dns-tcp", cloud::Protocol::tcp, 53, 30054}));
}

TEST(service_spec, calls_a_port_without_a_name_by_protocol_and_number) {
  EXPECT_EQ(
      spec_of(with_ports({{.protocol = "UDP", .port = 53, .node_port = 30053}})).listeners[0].name,
      "udp-53");
}

TEST(service_spec, calls_all_ports_by_protocol_and_number_where_names_will_not_do) {
  for (const char* name : {"http", "a.b", "Ä", "tcp-443"}) {
    const Spec spec = spec_of(with_ports({{.name = name, .port = 80, .node_port = 30080},
                                          {.name = "http", .port = 81, .node_port = 30081},
                                          {.name = "", .port = 443, .node_port = 30443}}));
    EXPECT_EQ(spec.listeners[0].name, "tcp-80") << name;
    EXPECT_EQ(spec.listeners[1].name, "tcp-81") << name;
    EXPECT_EQ(spec.listeners[2].name, "tcp-443") << name;
  }
}

TEST(service_spec, takes_as_many_ports_as_a_load_balancer_has_listeners) {
  EXPECT_EQ(spec_of(with_many_ports(100)).listeners.size(), 100U);
}

TEST(service_spec, says_by_what_nodes_are_checked_and_remembers_it_where_it_may_switch) {
  const EnsureService fallen_back = ensure(service(), {}, NodeHealth::kubelet);
  EXPECT_EQ(fallen_back.checked_by, NodeHealth::kubelet);
  EXPECT_TRUE(fallen_back.may_switch);
  EXPECT_EQ(fallen_back.spec.labels.at(std::string(kNodeHealthLabel)), "kubelet");

  const EnsureService told = ensure(service(), {.node_health = NodeHealth::kubelet});
  EXPECT_EQ(told.checked_by, NodeHealth::kubelet);
  EXPECT_FALSE(told.may_switch);
  EXPECT_FALSE(told.spec.labels.contains(std::string(kNodeHealthLabel)));
}

TEST(service_spec, tells_of_a_family_in_which_no_node_can_be_reached) {
  EligibleNodes nodes = testing::two_nodes();
  for (cloud::Target& target : nodes.targets) target.addresses.resize(1);
  const ServicePlan plan =
      plan_service(testing::dual_stack_service(), {}, testing::surroundings(nodes));
  ASSERT_EQ(plan.notices.size(), 1U);
  EXPECT_EQ(plan.notices[0].reason, "UnAvailableLoadBalancer");
  EXPECT_EQ(plan.notices[0].message,
            "There are no available nodes for LoadBalancer over IPv6: none has an IPv6 InternalIP");
}

TEST(service_spec, is_made_without_any_node_as_well) {
  const EligibleNodes none;
  const ServicePlan plan = plan_service(service(), {}, testing::surroundings(none));
  EXPECT_EQ(testing::as<EnsureService>(plan).spec, spec_of(service()));
  EXPECT_THAT(plan.notices, IsEmpty());
}

TEST(service_spec, tells_of_a_family_that_the_source_ranges_close) {
  kube::Service both = testing::dual_stack_service();
  both.load_balancer_source_ranges = {"0.0.0.0/0"};
  EXPECT_THAT(notices_of(both), ElementsAre("SourceRangesCloseFamily"));
  EXPECT_THAT(spec_of(both).source_ranges, ElementsAre(range("0.0.0.0/0")));
}

TEST(service_spec, leaves_out_labels_that_are_none) {
  kube::Service strange = service();
  strange.meta.key.name = std::string(64, 'a');
  const Spec spec = spec_of(strange);
  EXPECT_FALSE(spec.labels.contains(std::string(kNameLabel)));
  EXPECT_TRUE(spec.labels.contains(std::string(kNamespaceLabel)));
}

TEST(service_spec, refuses_what_cannot_be_balanced_and_says_what_to_do) {
  kube::Service chosen = service();
  chosen.allocate_node_ports = false;
  chosen.ports[0].node_port = 0;
  struct Row {
    kube::Service service;
    std::string_view reason;
    std::string_view message;
  };
  for (
      const Row& row : {
          Row{chosen, "NoNodePort",
              "traffic reaches the Nodes by node ports, and port http (TCP/80) has none, as "
              "allocateLoadBalancerNodePorts is false; set it to true, or give every port a "
              "nodePort"},
          Row{with_ports({{.port = 80}}), "NoNodePort",
              "traffic reaches the Nodes by node ports, and port TCP/80 has none; give every port "
              "a nodePort"},
          Row{with_ports({{.name = "sip", .protocol = "SCTP", .port = 5060, .node_port = 30060}}),
              "UnsupportedProtocol",
              "only TCP and UDP can be balanced, not port sip (SCTP/5060); move it to a Service of "
              "another type"},
          Row{with_many_ports(101), "TooManyPorts",
              "101 ports are more than the 100 that one load balancer can have; split the Service"},
          Row{with_ports({}), "InvalidPort", "the Service has no ports; give it at least one"},
          Row{with_ports({{.name = "a", .port = 80, .node_port = 30080},
                          {.name = "b", .port = 80, .node_port = 30081}}),
              "InvalidPort", "port b (TCP/80) is there twice"},
          Row{with_ports({{.name = "a", .port = 65536, .node_port = 30080}}), "InvalidPort",
              "a (TCP/65536) is no port"},
      }) {
    const RefuseService refused = refusal_of(row.service);
    EXPECT_EQ(refused.reason, row.reason);
    EXPECT_EQ(refused.message, row.message);
  }
}

// Bad input of many kinds costs one event that is still readable.
TEST(service_spec, tells_all_mistakes_in_one_message_under_the_reason_of_the_first) {
  kube::Service wrong = annotated("pools", "x", with_many_ports(500));
  wrong = annotated("preserve", "true", wrong);
  for (kube::ServicePort& port : wrong.ports) port.node_port = 0;
  wrong.load_balancer_ip = "lb.example";
  wrong.load_balancer_source_ranges = {"all"};
  wrong.external_traffic_policy = "Local";
  const RefuseService refused = refusal_of(wrong);
  EXPECT_EQ(refused.reason, "InvalidAnnotation");
  for (const char* part : {"isthmus.dev/pools: ", "isthmus.dev/preserve: does not work yet",
                           "spec.loadBalancerIP: ", "500 ports are more than the 100",
                           "p1 (TCP/1), p2 (TCP/2), p3 (TCP/3), p4 (TCP/4), "
                           "p5 (TCP/5) and 495 more",
                           "spec.loadBalancerSourceRanges: ", "healthCheckNodePort"}) {
    EXPECT_THAT(refused.message, HasSubstr(part));
  }
  EXPECT_LE(refused.message.size(), kube::kNoteMessageBytesMax);
}

}  // namespace
}  // namespace isthmus::controllers
