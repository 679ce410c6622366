// What tests of Services' plans begin with: a Service without any wish, two Nodes, one cluster.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/controllers/service_plan.h"

namespace isthmus::controllers::testing {

inline const cloud::ClusterUid kCluster =
    *cloud::ClusterUid::parse("11111111-1111-1111-1111-111111111111");
inline constexpr std::string_view kServiceUid = "22222222-2222-2222-2222-222222222222";

inline IpAddress ip(std::string_view text) { return *parse_ip(text); }
inline IpPrefix range(std::string_view text) { return *parse_prefix(text); }

inline std::string balancer_name() {
  return *cloud::owned_name(kBalancerKind, kCluster, kServiceUid);
}

// As the API server keeps one, http on TCP 80.
inline kube::Service service() {
  return {.meta = {.key = {"shop", "web"},
                   .uid = std::string(kServiceUid),
                   .resource_version = "7",
                   .finalizers = {std::string(kServiceFinalizer)}},
          .type = "LoadBalancer",
          .ports = {{.name = "http", .protocol = "TCP", .port = 80, .node_port = 30080}},
          .cluster_ips = {"10.96.0.10"},
          .ip_families = {"IPv4"},
          .ip_family_policy = "SingleStack",
          .external_traffic_policy = "Cluster",
          .internal_traffic_policy = "Cluster",
          .session_affinity = "None",
          .allocate_node_ports = true};
}

inline kube::Service dual_stack_service() {
  kube::Service both = service();
  both.cluster_ips = {"10.96.0.10", "fd00::10"};
  both.ip_families = {"IPv4", "IPv6"};
  both.ip_family_policy = "RequireDualStack";
  return both;
}

inline kube::Service annotated(std::string_view name, std::string value,
                               kube::Service service = testing::service()) {
  service.meta.annotations.set(std::string(kAnnotationPrefix) + std::string(name),
                               std::move(value));
  return service;
}

inline EligibleNodes two_nodes() {
  return {.targets = {{.name = "node1", .addresses = {ip("10.0.0.1"), ip("fd00:1::1")}},
                      {.name = "node2", .addresses = {ip("10.0.0.2"), ip("fd00:1::2")}}},
          .hash = "1",
          .ready = 2};
}

// Of a cloud with target sets.
inline ServiceSurroundings surroundings(const EligibleNodes& nodes) {
  return {.cluster = kCluster, .nodes = nodes, .target_set = "nodes-1"};
}

inline ServicePlan plan(const kube::Service& service, const ServicePlanOptions& options = {}) {
  const EligibleNodes nodes = two_nodes();
  return plan_service(service, options, surroundings(nodes));
}

template <class Alternative>
Alternative as(const ServicePlan& plan) {
  const auto* what = std::get_if<Alternative>(&plan.what);
  EXPECT_NE(what, nullptr) << describe(plan);
  return what ? *what : Alternative{};
}

inline cloud::LoadBalancerSpec spec_of(const kube::Service& service,
                                       const ServicePlanOptions& options = {}) {
  return as<EnsureService>(plan(service, options)).spec;
}

inline RefuseService refusal_of(const kube::Service& service,
                                const ServicePlanOptions& options = {}) {
  return as<RefuseService>(plan(service, options));
}

inline std::vector<std::string> notices_of(const kube::Service& service) {
  std::vector<std::string> reasons;
  for (const Notice& notice : plan(service).notices) reasons.push_back(notice.reason);
  return reasons;
}

}  // namespace isthmus::controllers::testing
