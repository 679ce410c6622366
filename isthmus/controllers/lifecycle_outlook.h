// What would become of a Node whose machine is stopped or gone (outlook.h), as far as one look can
// tell: the taint that follows the machine by the plan that the controller acts on; of a deletion,
// which takes answers over minutes, that it is withheld.
#pragma once

#include <optional>

#include "isthmus/cloud/model.h"
#include "isthmus/controllers/node_lifecycle_plan.h"
#include "isthmus/controllers/outlook.h"
#include "isthmus/kube/api/node.h"

namespace isthmus::controllers {

// nullopt: nothing is to be said. `machine` is what the cloud has just answered about the Node's
// providerID; null: that there is none.
std::optional<Outlook> lifecycle_outlook_of(const kube::Node& node, const cloud::Instance* machine,
                                            const LifecyclePlanOptions& options, Moment now);

}  // namespace isthmus::controllers
