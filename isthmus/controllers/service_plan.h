// What should be done about one Service: the decision, as data, made without IO or clock.
//
// What the fields of a Service mean here stands in service_spec.h and its neighbours and, for
// people, in docs/reference/services.md.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isthmus/cloud/load_balancer.h"
#include "isthmus/cloud/ownership.h"
#include "isthmus/controllers/eligible_nodes.h"
#include "isthmus/controllers/notice.h"
#include "isthmus/controllers/service_annotations.h"
#include "isthmus/kube/api/service.h"

namespace isthmus::controllers {

// Keeps a Service from vanishing before its load balancer has. The name is upstream's, and other
// implementations use it as well: its presence alone does not say that we put it there.
inline constexpr std::string_view kServiceFinalizer = "service.kubernetes.io/load-balancer-cleanup";

// The kinds of owned names (cloud/ownership.h).
inline constexpr std::string_view kBalancerKind = "svc";
inline constexpr std::string_view kTargetSetKind = "nodes";

// Labels of a load balancer in the cloud: whose it is, for people and for finding orphans, and what
// tells us after a restart what NodeHealth::automatic came to (only where that decided). A name or
// namespace that is no label value is left out.
inline constexpr std::string_view kNamespaceLabel = "isthmus.dev/service-namespace";
inline constexpr std::string_view kNameLabel = "isthmus.dev/service-name";
inline constexpr std::string_view kNodeHealthLabel = "isthmus.dev/node-health";

struct ServicePlanOptions {
  std::set<std::string, std::less<>> classes = {"isthmus.dev/lb"};  // loadBalancerClass values.
  bool serves_unclassed = true;                                     // Services without a class.
  NodeHealth node_health = NodeHealth::automatic;
};

// What the plan has to know besides the Service.
struct ServiceSurroundings {
  const cloud::ClusterUid& cluster;
  const EligibleNodes& nodes;
  std::string target_set = {};  // Empty: targets are named inline.

  // The cloud has a load balancer of this Service's uid, or this process has asked for one and not
  // taken leave of the Service since. It proves that the finalizer is ours; the absence of one
  // proves nothing.
  bool has_balancer = false;

  // What NodeHealth::automatic comes to: whether Nodes answered at kube-proxy's port so far.
  NodeHealth automatic = NodeHealth::kube_proxy;
};

// Nothing is to be done; `forget`: and none of what we know of it is needed any more.
struct LeaveService {
  std::string why;
  bool forget = false;
};

// It has no load balancer: release it whatever get would say, then clear the status, then the
// finalizer goes.
struct ReleaseService {
  std::string name;  // Of the load balancer.
  std::string why;
  bool clear_status = false;
  bool remove_finalizer = false;
};

// It has this load balancer.
struct EnsureService {
  cloud::LoadBalancerSpec spec = {};
  bool add_finalizer = false;
  NodeHealth checked_by = NodeHealth::kube_proxy;  // automatic: neither (Local, or annotations).
  bool may_switch = false;                         // checked_by is what automatic came to.
};

// What it asks for is not to be had here: what it has stays as it is, and the event says what to
// change.
struct RefuseService {
  std::string reason;  // Of the Warning event.
  std::string message;
};

struct ServicePlan {
  std::variant<LeaveService, ReleaseService, EnsureService, RefuseService> what;
  std::vector<Notice> notices = {};  // Besides the event that the alternative itself stands for.
};

ServicePlan plan_service(const kube::Service& service, const ServicePlanOptions& options,
                         const ServiceSurroundings& surroundings);

// Whether a Service that wants a load balancer is to get it here, by its class.
bool is_served(const kube::Service& service, const ServicePlanOptions& options);

// Whether a Service may be this controller's business: it wants a load balancer, or has what holds
// one.
bool concerns_us(const kube::Service& service);

// Whether a difference concerns this controller: what plan_service reads, and a status that
// changed, whoever wrote it, so that one that is not right any more is put right. Not somebody's
// label or annotation; not that the finalizer appears on a Service that is to have a load balancer,
// which is our own write; and nothing of a Service that neither is of the type nor has the
// finalizer: if the cloud has something of one, that is found from the cloud's side.
bool service_change_matters(const kube::Difference<kube::Service>& difference);

// status.loadBalancer.ingress for these addresses, in the form the API server keeps (ipMode set),
// so that comparing with what stands there is enough.
std::vector<kube::LoadBalancerIngress> ingress_of(const cloud::LoadBalancerState& state);

// The addresses in a status, those that are ones.
std::vector<IpAddress> addresses_in(const std::vector<kube::LoadBalancerIngress>& ingress);

// One line for people: dry run, log and audit.
std::string describe(const ServicePlan& plan);

}  // namespace isthmus::controllers
