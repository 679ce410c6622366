// What would become of Nodes now (outlook.h), by the plan that the node controller acts on.
#pragma once

#include "isthmus/cloud/provider.h"
#include "isthmus/controllers/machine_claims.h"
#include "isthmus/controllers/node_plan.h"
#include "isthmus/controllers/outlook.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// A resource; the store, which has all Nodes, and the cloud outlive it. The cloud should remember
// its answers (cloud/cache.h): it is asked about every Node.
class NodeOutlook final {
 public:
  NodeOutlook(NodePlanOptions options, kube::Store<kube::Node>& nodes, cloud::Instances& machines)
      : options_(std::move(options)), machines_(machines), claims_(nodes) {}

  // Unknown where the cloud does not say. Errors: cancelled.
  Task<Result<Outlook>> of(kube::Snapshot<kube::Node> node);

  // What is known of its machine, or why it is not.
  Task<Result<Evidence>> evidence_of(kube::Snapshot<kube::Node> node);

 private:
  const NodePlanOptions options_;
  cloud::Instances& machines_;
  MachineClaims claims_;
};

// The same as a plain function.
Outlook outlook_of(const kube::Node& node, const NodePlan& plan);

}  // namespace isthmus::controllers
