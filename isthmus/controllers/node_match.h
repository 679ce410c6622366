// Which machine a Node is. A wrong answer gives a Node the identity of somebody else's machine, so
// whatever is not certain is refused, and the refusal names the candidates.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/cloud/model.h"
#include "isthmus/kube/api/node.h"

namespace isthmus::controllers {

// What a Node without a providerID and a machine may have in common.
enum class MatchBy : std::uint8_t { system_uuid, name, internal_ip };

// "systemUUID", "name", "InternalIP".
std::string_view to_string(MatchBy by);

// Comma-separated, each word once, in order of precedence. "providerID" may lead, as it does
// anyway; it may be all there is: then only Nodes with a providerID get a machine. invalid names
// the word that is wrong.
Result<std::vector<MatchBy>> parse_match_order(std::string_view text);

// What was found out about a Node before its plan is made.
struct Evidence {
  // All machines that may be this Node's; more do no harm. Empty after the cloud answered `absent`.
  std::vector<cloud::Instance> machines = {};
  cloud::Completeness completeness = cloud::Completeness::complete;

  // By provider id as on the Node, the names of other Nodes that hold it or are about to.
  std::map<std::string, std::string> held_by = {};
};

// Why there is no match. The cause is a word for metrics: machine_not_found, machine_ambiguous,
// machine_held, machine_mismatch, machine_retired or machine_unknown.
struct NoMatch {
  std::string_view cause;
  std::string message;
};

using Match = std::variant<cloud::Instance, NoMatch>;

// With a providerID: the machine of that id, and no other way is tried. Without: the first kind of
// the order by which any machine matches decides, and it must be exactly one. Either way
// the machine must be present (a retired one is gone, an unknown one is not vouched for), must not
// be another Node's, and, if system UUIDs count, must not have a different one.
//
// A partial list is good enough for a match: that a namesake hides in the part which is missing
// takes two mistakes at once, and refusing would keep new Nodes out for as long as one zone is out.
Match match_machine(const kube::Node& node, const Evidence& evidence,
                    const std::vector<MatchBy>& order);

// What to ask the cloud for, for a Node without a providerID.
cloud::InstanceQuery query_for(const kube::Node& node);

}  // namespace isthmus::controllers
