// The labels a machine gives its Node, and who owns which.
//
// Four kinds of keys:
// - region, zone and type: the cloud's wherever it says something. The keys of general availability
//   lead; their beta twins are only kept equal, for software that still reads those.
// - what else the machine carries: ours from the moment we add it, which an annotation on the Node
//   remembers. Ours is kept as the machine has it, and removed when the machine drops it.
// - a key that was on the Node before us: the user's, kept whatever the machine says.
// - keys of kubernetes.io and k8s.io: reserved; a machine may not set them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isthmus/cloud/model.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/api/patch.h"

namespace isthmus::controllers {

// Comma-separated keys of the additional labels on this Node that are ours.
inline constexpr std::string_view kManagedLabelsAnnotation = "isthmus.dev/managed-labels";

// Adds to the change what the labels of the Node, and the annotation above, lack. Answers, for
// people, what was not applied and why: an illegal key or value is skipped, so that one bad label
// never keeps a Node from being initialized.
std::vector<std::string> plan_labels(const kube::Node& node, const cloud::Instance& machine,
                                     kube::NodeChange& change);

}  // namespace isthmus::controllers
