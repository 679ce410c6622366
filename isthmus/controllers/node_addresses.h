// The addresses a Node shall show: the machine's, cut to what the kubelet was told to use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/cloud/model.h"
#include "isthmus/kube/api/node.h"

namespace isthmus::controllers {

// Written by a kubelet that was started with --node-ip: one address, or two of different families
// with a comma between them.
inline constexpr std::string_view kProvidedNodeIpAnnotation =
    "alpha.kubernetes.io/provided-node-ip";

// What a provided address does to others of its type.
enum class NodeIpFilter {
  whole_type,  // Drops them all: upstream's way.
  per_family,  // Drops those of its family, so the second family of a dual-stack machine stays.
};

// The exact list, in order, as upstream builds it:
// - the machine's addresses, as the cloud spells and orders them; where it names none of type
//   Hostname, the Node's own hostnames are kept behind them;
// - with the annotation, first those equal to the provided addresses, in the order provided, then
//   those of other types.
// Unlike upstream's, without what addresses_left_out tells of; of a type of which the cloud names
// nothing else, the Node's own addresses are kept at the end, unless they are nobody's.
// An empty list means that the cloud knows no address, and the Node's stay as they are.
//
// invalid: the annotation cannot be read; absent: the machine has no such address. Either way the
// Node must not be initialized: it would show an address that its kubelet does not listen on.
Result<std::vector<kube::NodeAddress>> wanted_addresses(const kube::Node& node,
                                                        const cloud::Instance& machine,
                                                        NodeIpFilter filter);

// Whether it is an IP address that no machine can have as its own, so that it tells none from
// another: every machine answers to 127.0.0.1.
bool is_nobodys(std::string_view address);

// The machine's addresses that no Node shows, and why, for people: an InternalIP or ExternalIP that
// is no IP address, or nobody's (loopback, multicast, unspecified). The first few are named; empty:
// there are none.
std::string addresses_left_out(const cloud::Instance& machine);

}  // namespace isthmus::controllers
