// The JSON form of a target set, for larger documents.
#pragma once

#include "isthmus/base/json.h"
#include "isthmus/infra/api/target_set.h"

namespace isthmus::infra::api {

json::object to_json(const TargetSet& set);

// With the tolerance of decode_target_set; what is wrong goes to the reader's Mistakes.
TargetSet read_target_set(JsonReader document);

}  // namespace isthmus::infra::api
