// What the handlers of load balancers, target sets, route tables, pools and addresses work with.
#pragma once

#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/infra/access.h"
#include "isthmus/infra/balancer_view.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// What it refers to outlives the handlers.
struct ObjectParts {
  Store& store;
  Ledger& ledger;
  const Access& access;
  const BalancerView* view;  // nullptr: nobody knows the health of targets.
  const Clock& clock;
  Metrics& metrics;
  Logger& log;
  std::string driver;  // By name, for what it does not offer.

  // What the plan that the ledger has just answered was planned from, or newer. Good until the next
  // await.
  const LedgerSnapshot& planned_from() const {
    const LedgerSnapshot* snapshot = ledger.remembered();
    ISTHMUS_ASSERT(snapshot != nullptr, "what was planned was planned from a snapshot");
    return *snapshot;
  }
};

}  // namespace isthmus::infra
