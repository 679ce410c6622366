#include "isthmus/kube/api/status.h"

#include <algorithm>

namespace isthmus::kube {

bool Status::has_cause(std::string_view cause_reason) const {
  return std::ranges::find(causes, cause_reason, &StatusCause::reason) != causes.end();
}

}  // namespace isthmus::kube
