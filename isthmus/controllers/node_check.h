// By what the Nodes of a Service's load balancer are known to be well.
#pragma once

#include "isthmus/cloud/load_balancer.h"
#include "isthmus/controllers/service_annotations.h"
#include "isthmus/controllers/service_complaints.h"
#include "isthmus/controllers/service_plan.h"
#include "isthmus/kube/api/service.h"

namespace isthmus::controllers {

inline constexpr std::uint16_t kKubeProxyHealthPort = 10256;

// What kube-proxy serves there, and at every healthCheckNodePort.
inline constexpr std::string_view kHealthPath = "/healthz";

struct NodeCheck {
  cloud::LoadBalancerSpec::HealthCheck check = {};
  NodeHealth by = NodeHealth::automatic;  // automatic: neither, it is the Service's own check.
  bool may_switch = false;                // `by` is what automatic came to.

  friend bool operator==(const NodeCheck&, const NodeCheck&) = default;
};

bool is_local(const kube::Service& service);

// externalTrafficPolicy Cluster: every Node forwards to every pod, so it is asked whether the Node
// forwards at all: kube-proxy's health port, or the kubelet's, as the annotation or else the flag
// says. Local: only Nodes with pods of it forward, and kube-proxy says so at healthCheckNodePort by
// its HTTP answer; a connection is accepted there, and often at the node port, on every Node.
//
// Then each health-check annotation replaces one value. Who replaces protocol, port or path has a
// check of their own, which `auto` leaves alone.
//
// A complaint: annotations that contradict each other or the policy, and Local without a
// healthCheckNodePort and without a port of its own.
NodeCheck node_check_of(const kube::Service& service, const ServiceWishes& wishes,
                        const ServicePlanOptions& options, const ServiceSurroundings& surroundings,
                        Complaints& complaints);

}  // namespace isthmus::controllers
