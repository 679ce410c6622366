// The chain of a Node: object, manager, switch, identity, machine, power, addresses, taint,
// kubelet, shutdown taint, deletion (explanation.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isthmus/controllers/explanation.h"
#include "isthmus/controllers/node_plan.h"
#include "isthmus/kube/api/node.h"

namespace isthmus::controllers {

// What is known of a Node; an error says why something is not.
struct NodeFacts {
  kube::ObjectKey key = {};
  Result<std::optional<kube::Node>> node = std::optional<kube::Node>();
  NodePlanOptions options = {};
  Result<LeaseFacts> lease = LeaseFacts();
  Result<SwitchFacts> safety = SwitchFacts();
  Result<Evidence> evidence = Evidence();

  // The kubelet's Lease; nullopt: there is none.
  Result<std::optional<LeaseFacts>> heartbeat = std::optional<LeaseFacts>();
  std::vector<kube::Event> events = {};
  std::optional<Error> no_events = {};  // Why they could not be read.
};

Explanation explain(const NodeFacts& facts);

}  // namespace isthmus::controllers
