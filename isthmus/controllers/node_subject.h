// A Node in the words of the witness (cloud/subject.h): what of it counts for its deletion.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isthmus/cloud/subject.h"
#include "isthmus/kube/api/node.h"

namespace isthmus::controllers {

// What people may say about the deletion of one Node.
//   node-protect              any value but "false": it is never deleted by us
//   node-confirmed-gone       "<uid>@<RFC 3339 time>": its machine is confirmed gone until then
//   node-removal-announced    any value but "false", and cordoned: it is about to be removed
inline constexpr std::string_view kNodeProtectAnnotation = "isthmus.dev/node-protect";
inline constexpr std::string_view kNodeConfirmedGoneAnnotation = "isthmus.dev/node-confirmed-gone";
inline constexpr std::string_view kNodeRemovalAnnouncedAnnotation =
    "isthmus.dev/node-removal-announced";

// Whether the annotation is one of the above: it must be kept of watched Nodes.
bool is_deletion_annotation(std::string_view key);

// Whether its condition Ready is True; without one it is not.
bool is_ready(const kube::Node& node);

// The Node as the witness sees it. That its machine is confirmed gone stands for evidence; it
// announces nothing.
cloud::Subject subject_of(const kube::Node& node);

// What is wrong with its annotations; nullopt: nothing. A wrong one has no effect.
std::optional<std::string> complaint_about(const kube::Node& node);

}  // namespace isthmus::controllers
