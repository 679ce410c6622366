// What is known of a load balancer beyond what the store keeps, as a door: whoever checks its
// targets and holds it answers.
#pragma once

#include <vector>

#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

class BalancerView {
 public:
  virtual ~BalancerView() = default;

  // The health of each target now; empty where nobody has looked yet.
  virtual std::vector<api::TargetStatus> target_health(const ObjectName& name) const = 0;
};

}  // namespace isthmus::infra
