// The strict side of route_table.h: what is written to us must be right in every part, and
// everything that is wrong is said at once.
#pragma once

#include <string_view>

#include "isthmus/infra/api/object_input.h"
#include "isthmus/infra/api/route_table.h"

namespace isthmus::infra::api {

// Reads the body of a PUT of the route table of that owner and name, as decode_load_balancer_input
// does.
//
// Wrong are unknown and doubled members and wrong types; prefixes with bits behind them, and those
// that hold addresses that are nobody's to route (unspecified, loopback, link-local, multicast,
// mapped, and so the default route); cluster CIDRs that overlap each other; a destination that lies
// in none of them, or is there twice; a route with neither instance nor next hop; a next hop of the
// other family, that others cannot reach (rules.h), or that lies in a destination of the table, so
// that it would be looked for behind itself; every number over its limit.
Input<RouteTable> decode_route_table_input(std::string_view json, std::string_view owner,
                                           std::string_view name);

}  // namespace isthmus::infra::api
