// Route tables in both languages: plain functions between cloud/ and the infrastructure API.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/cloud/route.h"
#include "isthmus/infra/api/route_table.h"

namespace isthmus::providers::infra {

// What is written. A route to no machine of this cloud is written by its next hop alone.
isthmus::infra::api::RouteTable to_api(const cloud::RouteTableSpec& spec);

// What is answered. Settled is what was done as far as it can be for the present generation. Facts
// are the conditions of the whole table that are not as they should be; what is wrong with single
// routes is in those.
cloud::RouteTableState to_cloud(const std::string& scheme, isthmus::infra::api::RouteTable table);

// Takes the refused routes, by their places, out of what is asked for. lost: there is no route in
// such a place.
Result<> take_out(const std::map<std::size_t, std::string>& refused, cloud::RouteTableSpec& spec,
                  std::vector<cloud::RouteState>& into);

}  // namespace isthmus::providers::infra
