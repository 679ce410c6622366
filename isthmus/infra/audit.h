// The audit trail: one line for every write that was carried out, and its count.
#pragma once

#include <cstdint>
#include <string_view>

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/infra/exchange.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// What was written; a machine, whose uid is in the path, or an object of an owner. Whoever carries
// it out logs owner, name and generation as well, by which its lines and the request's id, which
// stands only here, are joined.
struct Written {
  std::string_view kind;  // "LoadBalancer"
  std::uint64_t generation_before = 0;
  std::uint64_t generation = 0;
  Revision revision = 0;
};

// Who did what to which object; dry runs and writes that changed nothing are not told.
void audit(const Exchange& exchange, const Written& written, Logger& log, Metrics& metrics);

}  // namespace isthmus::infra
