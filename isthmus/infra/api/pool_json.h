// The JSON forms of pools and of allocated addresses, for larger documents.
#pragma once

#include "isthmus/base/json.h"
#include "isthmus/infra/api/pool.h"

namespace isthmus::infra::api {

json::object to_json(const Pool& pool);
json::object to_json(const AllocatedAddress& address);

// With the tolerance of decode_pool; what is wrong goes to the reader's Mistakes.
Pool read_pool(JsonReader document);
AllocatedAddress read_allocated_address(JsonReader document);

}  // namespace isthmus::infra::api
