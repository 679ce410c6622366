// The JSON form of a route table, for larger documents.
#pragma once

#include "isthmus/base/json.h"
#include "isthmus/infra/api/route_table.h"

namespace isthmus::infra::api {

json::object to_json(const RouteTable& table);

// With the tolerance of decode_route_table; what is wrong goes to the reader's Mistakes.
RouteTable read_route_table(JsonReader document);

}  // namespace isthmus::infra::api
