#include "isthmus/controllers/node_check.h"

#include <gtest/gtest.h>

#include "isthmus/controllers/service_plan_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using HealthCheck = cloud::LoadBalancerSpec::HealthCheck;
using Protocol = HealthCheck::Protocol;

const HealthCheck kKubeProxy{.protocol = Protocol::http, .port = 10256, .http_path = "/healthz"};
const HealthCheck kKubelet{.port = 10250};

kube::Service local(std::int32_t port = 31000) {
  kube::Service service = testing::service();
  service.external_traffic_policy = "Local";
  service.health_check_node_port = port;
  return service;
}

struct Stage {
  kube::Service service = testing::service();
  ServiceWishes wishes = {};
  ServicePlanOptions options = {};
  NodeHealth automatic = NodeHealth::kube_proxy;
  std::uint16_t kubelet_port = 10250;
};

NodeCheck ask(const Stage& stage, Complaints& complaints) {
  EligibleNodes nodes = testing::two_nodes();
  nodes.kubelet_port = stage.kubelet_port;
  ServiceSurroundings surroundings = testing::surroundings(nodes);
  surroundings.automatic = stage.automatic;
  return node_check_of(stage.service, stage.wishes, stage.options, surroundings, complaints);
}

NodeCheck right(const Stage& stage) {
  Complaints complaints;
  NodeCheck check = ask(stage, complaints);
  EXPECT_TRUE(complaints.empty()) << complaints.refusal().message;
  return check;
}

RefuseService wrong(const Stage& stage) {
  Complaints complaints;
  (void)ask(stage, complaints);
  return complaints.refusal();
}

TEST(node_check, asks_kube_proxy_until_it_turns_out_that_none_answers) {
  EXPECT_EQ(right({}), (NodeCheck{kKubeProxy, NodeHealth::kube_proxy, true}));
  EXPECT_EQ(right({.automatic = NodeHealth::kubelet}),
            (NodeCheck{kKubelet, NodeHealth::kubelet, true}));
}

TEST(node_check, asks_the_port_that_kubelets_report) {
  EXPECT_EQ(right({.automatic = NodeHealth::kubelet, .kubelet_port = 10260}).check.port, 10260);
}

TEST(node_check, asks_whom_the_flag_says_and_rather_whom_the_annotation_says) {
  const ServicePlanOptions by_kubelet{.node_health = NodeHealth::kubelet};
  EXPECT_EQ(right({.options = by_kubelet}), (NodeCheck{kKubelet, NodeHealth::kubelet, false}));
  EXPECT_EQ(right({.wishes = {.node_health = NodeHealth::kube_proxy}, .options = by_kubelet}),
            (NodeCheck{kKubeProxy, NodeHealth::kube_proxy, false}));
  EXPECT_EQ(right({.wishes = {.node_health = NodeHealth::automatic}, .options = by_kubelet}),
            (NodeCheck{kKubeProxy, NodeHealth::kube_proxy, true}));
}

TEST(node_check, of_local_traffic_asks_the_health_check_node_port) {
  const HealthCheck expected{.protocol = Protocol::http, .port = 31000, .http_path = "/healthz"};
  EXPECT_EQ(right({.service = local(), .automatic = NodeHealth::kubelet}),
            (NodeCheck{expected, NodeHealth::automatic, false}));
}

TEST(node_check, of_local_traffic_is_impossible_without_that_port) {
  const RefuseService refused = wrong({.service = local(0)});
  EXPECT_EQ(refused.reason, "NoHealthCheckNodePort");
  EXPECT_EQ(refused.message,
            "externalTrafficPolicy is Local and the Service has no healthCheckNodePort, so nobody "
            "can tell which Nodes have its pods; set externalTrafficPolicy to Cluster and back to "
            "be given one");
  EXPECT_EQ(right({.service = local(0), .wishes = {.check_port = 8080}}).check.port, 8080);
}

TEST(node_check, takes_single_values_from_the_annotations) {
  const NodeCheck often = right(
      {.wishes = {.check_interval = 10s, .check_timeout = 3s, .check_rise = 1, .check_fall = 9}});
  HealthCheck expected = kKubeProxy;
  expected.interval = 10s;
  expected.timeout = 3s;
  expected.rise = 1;
  expected.fall = 9;
  EXPECT_EQ(often, (NodeCheck{expected, NodeHealth::kube_proxy, true}));

  const NodeCheck path = right({.wishes = {.check_port = 10257, .check_path = "/livez"}});
  EXPECT_EQ(path.check.http_path, "/livez");
  EXPECT_EQ(path.check.port, 10257);
  EXPECT_EQ(path.check.protocol, Protocol::http);
}

TEST(node_check, of_the_services_own_is_left_alone_by_auto) {
  const Stage own{.wishes = {.check_path = "/livez"}, .automatic = NodeHealth::kubelet};
  HealthCheck expected = kKubeProxy;
  expected.http_path = "/livez";
  EXPECT_EQ(right(own), (NodeCheck{expected, NodeHealth::automatic, false}));
}

TEST(node_check, by_connection_has_no_path) {
  const NodeCheck tcp = right({.wishes = {.check_protocol = Protocol::tcp, .check_port = 22}});
  EXPECT_EQ(tcp.check, (HealthCheck{.port = 22}));
}

TEST(node_check, waits_no_longer_than_until_the_next) {
  EXPECT_EQ(right({.wishes = {.check_interval = 1s}}).check.timeout, Duration(1s));
  const RefuseService refused = wrong({.wishes = {.check_timeout = 6s}});
  EXPECT_EQ(refused.reason, "InvalidAnnotation");
  EXPECT_EQ(refused.message,
            "isthmus.dev/health-check-timeout: 6s is longer than the interval, 5s");
}

TEST(node_check, refuses_annotations_that_contradict_each_other_or_the_policy) {
  struct Row {
    Stage stage;
    std::string_view message;
  };
  for (const Row& row : {
           Row{{.wishes = {.check_protocol = Protocol::tcp, .check_path = "/"}},
               "isthmus.dev/health-check-path: a TCP check has no path; remove it, or set "
               "isthmus.dev/health-check-protocol to http"},
           Row{{.wishes = {.node_health = NodeHealth::kubelet, .check_path = "/"}},
               "isthmus.dev/health-check-path: a TCP check has no path; remove it, or set "
               "isthmus.dev/health-check-protocol to http"},
           Row{{.wishes = {.node_health = NodeHealth::kubelet, .check_protocol = Protocol::http}},
               "isthmus.dev/health-check-protocol: the kubelet's port does not speak plain HTTP; "
               "add health-check-port, or set health-check-node to kube-proxy"},
           Row{{.service = local(), .wishes = {.node_health = NodeHealth::automatic}},
               "isthmus.dev/health-check-node: has no meaning under externalTrafficPolicy Local, "
               "where healthCheckNodePort says which Nodes have pods; remove it"},
           Row{{.service = local(), .wishes = {.check_protocol = Protocol::tcp}},
               "isthmus.dev/health-check-protocol: under externalTrafficPolicy Local a connection "
               "to healthCheckNodePort succeeds on every Node, with and without pods; remove it"},
       }) {
    EXPECT_EQ(wrong(row.stage).reason, "InvalidAnnotation");
    EXPECT_EQ(wrong(row.stage).message, row.message);
  }
}

}  // namespace
}  // namespace isthmus::controllers
