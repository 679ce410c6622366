// What should be done about one Node: the decision, as data, made without IO or clock.
//
// This is the place that decides whether a Node's uninitialized taint is removed: only plan_node
// makes an Initialize, and only an Initialize removes the taint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isthmus/cloud/model.h"
#include "isthmus/controllers/node_addresses.h"
#include "isthmus/controllers/node_match.h"
#include "isthmus/controllers/notice.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/api/patch.h"

namespace isthmus::controllers {

// Set by a kubelet that waits for a cloud; keeps pods away until it is removed.
inline constexpr std::string_view kUninitializedTaint =
    "node.cloudprovider.kubernetes.io/uninitialized";

// Reasons of Warning events.
inline constexpr const char* kFailedToInitialize = "FailedToInitialize";
inline constexpr const char* kFailedToRefresh = "FailedToRefresh";
inline constexpr const char* kNodeIpNotFound = "NodeIPNotFound";

struct NodePlanOptions {
  std::string scheme;  // Of our provider ids; a Node with another one is somebody else's.
  std::vector<MatchBy> match_order = {MatchBy::system_uuid, MatchBy::name, MatchBy::internal_ip};
  NodeIpFilter node_ip_filter = NodeIpFilter::whole_type;
  bool refresh_labels = true;  // Off: labels are set once, as upstream does.
};

// Nothing is written.
struct Leave {
  std::string why;
  std::string_view cause = {};  // A word for metrics, when it is left because of its machine.
};

// A new Node becomes a member: first the addresses, then everything else in one patch.
struct Initialize {
  std::string provider_id = {};                                  // Of the machine.
  std::optional<std::vector<kube::NodeAddress>> addresses = {};  // nullopt: right already.
  kube::NodeChange change = {};  // Labels, providerID if it had none, and the taint's removal.
};

// A member whose machine has changed.
struct Refresh {
  std::optional<std::vector<kube::NodeAddress>> addresses = {};
  kube::NodeChange change = {};
};

enum class Retry : std::uint8_t {
  later,      // The cloud, or another Node, may change: look again by ourselves.
  on_change,  // Only a change of the Node itself helps.
};

// A tainted Node stays tainted.
struct Refuse {
  std::string_view reason;  // Of the Warning event: FailedToInitialize or NodeIPNotFound.
  std::string message;
  std::string_view cause;  // A word for metrics.
  Retry retry = Retry::later;
};

struct NodePlan {
  std::variant<Leave, Initialize, Refresh, Refuse> what;
  std::vector<Notice> notices = {};  // Besides the event that the alternative itself stands for.
};

// What has to be asked of the cloud before plan_node can decide. Nothing: it can already.
struct AskNothing {};
using Question = std::variant<AskNothing, cloud::ProviderId, cloud::InstanceQuery>;
Question question_for(const kube::Node& node, const NodePlanOptions& options);

// Whether it waits for a cloud: a newcomer, and no member yet.
bool is_tainted(const kube::Node& node);

// What hands the Node over to a cloud, as people type it: it sets the taint.
std::string taint_command(const kube::Node& node);

// The decision. The evidence answers question_for this very Node.
NodePlan plan_node(const kube::Node& node, const Evidence& evidence,
                   const NodePlanOptions& options);

// One line for people: dry run, log and audit. Addresses are "InternalIP 10.0.0.1, Hostname node1".
std::string describe(const NodePlan& plan);
std::string describe(const std::vector<kube::NodeAddress>& addresses);

}  // namespace isthmus::controllers
