// What a change would change, field by field, for a dry run.
#pragma once

#include <vector>

#include "isthmus/base/json.h"
#include "isthmus/infra/api/dry_run.h"

namespace isthmus::infra {

// Objects are compared member by member and arrays element by element, in the order of `from`, then
// what only `to` has. What stands on one side only is one change, however large. The documents are
// no deeper than those that parse_json reads.
std::vector<api::PlannedChange> differences(const json::value& from, const json::value& to);

}  // namespace isthmus::infra
