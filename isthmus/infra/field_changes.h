// What a change would change, field by field, for a dry run.
#pragma once

#include <string>
#include <vector>

#include "isthmus/base/json.h"

namespace isthmus::infra {

// One difference between what stands and what would: a JSON pointer (RFC 6901) and both values as
// JSON, empty where there is none.
struct FieldChange {
  std::string pointer;
  std::string from;
  std::string to;

  friend bool operator==(const FieldChange&, const FieldChange&) = default;
};

// Objects are compared member by member and arrays element by element, in the order of `from`, then
// what only `to` has. What stands on one side only is one change, however large. The documents are
// no deeper than those that parse_json reads.
std::vector<FieldChange> differences(const json::value& from, const json::value& to);

}  // namespace isthmus::infra
