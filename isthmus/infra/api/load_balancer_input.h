// The strict side of load_balancer.h and target_set.h: what is written to us must be right in every
// part, and everything that is wrong is said at once.
#pragma once

#include <string_view>

#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/object_input.h"
#include "isthmus/infra/api/target_set.h"

namespace isthmus::infra::api {

// Reads the body of a PUT of the object of that owner and name, defaulted (see the comments of the
// values). Members the server owns (uid, revision, generation, deletionRequestedAt, the whole
// status) may be there, as in what a GET answered, and say nothing; owner and name may be there if
// they are those of the path.
//
// Wrong are unknown and doubled members and wrong types; names that are no DNS-1123 labels (of a
// set's target: no DNS names); ports outside 1 to 65535; two listeners of one protocol and port, or
// of one name; a listener of a group that is not there, two groups of one name, a group that is
// neither a set with a port nor inline, a group no listener uses; addresses that others cannot
// reach (rules.h), mapped IPv6 ones too, two equal ones, in a target set also those of two targets,
// or two of a target in one family; prefixes with bits behind them; a target twice in one group;
// families without an address and the other way round, where addresses are asked for; a health
// check whose timeout exceeds its interval; every number over its limit.
Input<LoadBalancer> decode_load_balancer_input(std::string_view json, std::string_view owner,
                                               std::string_view name);
Input<TargetSet> decode_target_set_input(std::string_view json, std::string_view owner,
                                         std::string_view name);

}  // namespace isthmus::infra::api
