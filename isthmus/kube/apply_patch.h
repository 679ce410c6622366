// What a patch does to an object, as the API server would do it: JSON patch, JSON merge patch, a
// whole document, and as much of strategic merge as is sent here.
#pragma once

#include <string_view>

#include "isthmus/base/json.h"
#include "isthmus/base/result.h"
#include "isthmus/kube/api/patch.h"

namespace isthmus::kube {

// invalid: the body is no such patch, or one of its `test` operations does not hold. Preconditions
// in metadata are merged like anything else: whoever keeps versions compares them first.
Result<json::object> apply_patch(json::object object, PatchType type, std::string_view body);

}  // namespace isthmus::kube
