// What the metrics show of the ledger, computed when they are collected: how much of each pool is
// used, and how many load balancers wait for the host. What the host found is for the reconciler to
// show.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "isthmus/base/ip.h"
#include "isthmus/base/metrics.h"
#include "isthmus/infra/ledger.h"

namespace isthmus::infra {

// From what the ledger remembers; both outlive it.
class LedgerGauges {
 public:
  LedgerGauges(Ledger& ledger, Metrics& metrics);

 private:
  void refresh();
  void refresh_balancers(const LedgerSnapshot& snapshot);
  void refresh_pools(const LedgerSnapshot& snapshot);

  void show(const std::string& pool, const api::PoolUse& use);

  Ledger& ledger_;
  Metrics& metrics_;
  std::set<std::pair<std::string, IpFamily>> shown_;  // Pools that are or were there.
  Metrics::OnCollect on_collect_;
};

}  // namespace isthmus::infra
