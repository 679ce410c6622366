// Which Nodes load balancers send to, and how they are found there.
//
// The rules are those of the Service API, upstream's (KEP-3458, "stable" predicates) and what
// upstream leaves out: a Node that is not initialized yet is no target, because nobody has said
// that its addresses are right; and a change of an address counts.
//
// Readiness is left to the health check, which is nearer to the truth than a condition that a
// kubelet has to report; so is being cordoned, which is about new pods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/cloud/load_balancer.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

inline constexpr std::string_view kExcludedLabel =
    "node.kubernetes.io/exclude-from-external-load-balancers";
inline constexpr std::string_view kAutoscalerTaint = "ToBeDeletedByClusterAutoscaler";

// Why a Node is no target, in words that end a sentence about it ("is being deleted"); empty: it is
// one.
std::string_view why_no_target(const kube::Node& node);

// The Node as a target: its name, the first InternalIP of each family (kube-proxy's nftables mode
// serves node ports on the primary address only), and its providerID where that can be read, whose
// ever it is. Addresses that are none, or that nobody can send to (usable_address.h), are passed
// over; without any the target has none.
cloud::Target target_of(const kube::Node& node);

struct EligibleNodes {
  std::vector<cloud::Target> targets = {};  // In the order of their names; each has an address.
  std::string hash = {};               // Of the targets: equal hashes are equal sets. Hexadecimal.
  std::uint16_t kubelet_port = 10250;  // The one most of them report; the lowest of several.
  std::size_t ready = 0;               // Of the targets, by their Ready condition.
  std::map<std::string, std::string> left_out = {};  // By name: why, as why_no_target says it.

  friend bool operator==(const EligibleNodes&, const EligibleNodes&) = default;
};

using NodesByKey = std::map<kube::ObjectKey, kube::Snapshot<kube::Node>>;

// An address that two Nodes claim is that of the first by name, and a Node without any other is
// left out: a cloud refuses a set that has an address twice.
EligibleNodes eligible_nodes(const NodesByKey& nodes);

// The names of targets whose Nodes are not there any more. One that was excluded, is tainted or is
// being deleted has said so and is none of them.
std::vector<std::string> vanished_targets(const EligibleNodes& before, const NodesByKey& nodes);

// Whether a loss is too large to be believed without asking: more than half of the targets have
// vanished, or the last of them.
bool is_suspicious_loss(const EligibleNodes& before, const EligibleNodes& after,
                        std::size_t vanished);

// Whether a difference may change what eligible_nodes answers: not a kubelet's heartbeat, nor what
// happens to a Node that was no target and is none.
bool target_change_matters(const kube::Difference<kube::Node>& difference);

}  // namespace isthmus::controllers
