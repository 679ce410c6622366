// core/v1 Service, as far as a load balancer depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/kube/api/meta.h"

namespace isthmus::kube {

struct ServicePort {
  std::string name = {};
  std::string protocol = "TCP";  // "TCP", "UDP", "SCTP".
  std::int32_t port = 0;
  std::int32_t node_port = 0;    // 0: none allocated.
  std::string target_port = {};  // A number or a name, as text; empty: the same as `port`.
  std::string app_protocol = {};

  friend bool operator==(const ServicePort&, const ServicePort&) = default;
};

// status.loadBalancer.ingress[].ports[]
struct IngressPort {
  std::int32_t port = 0;
  std::string protocol = "TCP";
  std::string error = {};

  friend bool operator==(const IngressPort&, const IngressPort&) = default;
};

struct LoadBalancerIngress {
  std::string ip = {};
  std::string hostname = {};
  std::string ip_mode = {};  // "VIP" or "Proxy"; the server sets "VIP" where `ip` came without one.
  std::vector<IngressPort> ports = {};

  friend bool operator==(const LoadBalancerIngress&, const LoadBalancerIngress&) = default;
};

struct Service {
  static constexpr ResourceType resource{"v1", "Service", "services", true};

  ObjectMeta meta = {};

  // spec; texts are empty where the server sent nothing.
  std::string type = {};  // "ClusterIP", "NodePort", "LoadBalancer", "ExternalName".
  std::optional<std::string> load_balancer_class = {};
  std::string load_balancer_ip = {};
  std::vector<std::string> load_balancer_source_ranges = {};
  std::vector<ServicePort> ports = {};
  std::vector<std::string> cluster_ips = {};
  std::vector<std::string> external_ips = {};
  std::vector<std::string> ip_families = {};  // "IPv4", "IPv6"; the first is the primary one.
  std::string ip_family_policy = {};  // "SingleStack", "PreferDualStack", "RequireDualStack".
  std::string external_traffic_policy = {};  // "Cluster", "Local".
  std::string internal_traffic_policy = {};
  std::int32_t health_check_node_port = 0;  // 0: none.
  std::string session_affinity = {};        // "None", "ClientIP".
  std::int32_t session_affinity_seconds =
      0;  // sessionAffinityConfig.clientIP.timeoutSeconds; 0: none.
  std::optional<bool> allocate_node_ports = {};
  bool publish_not_ready_addresses = false;

  // status.loadBalancer.ingress
  std::vector<LoadBalancerIngress> ingress = {};

  friend bool operator==(const Service&, const Service&) = default;
};

}  // namespace isthmus::kube
