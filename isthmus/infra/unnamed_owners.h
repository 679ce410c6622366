// Owners that have something here and that the configuration does not name: somebody renamed them,
// or named the first owners where everybody had been "local". What they have is served on, and
// their addresses stay theirs, while a manager under its new name gets others.
#pragma once

#include <optional>
#include <string>

#include "isthmus/infra/access.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// "local: 2 load balancers, 1 target set; old: 1 route table"; nothing where there are none. One
// walk over all objects. An administrator may also keep such owners on purpose.
std::optional<std::string> unnamed_owners(const LedgerSnapshot& snapshot, const Access& access);

}  // namespace isthmus::infra
