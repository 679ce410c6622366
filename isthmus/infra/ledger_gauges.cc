#include "isthmus/infra/ledger_gauges.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace isthmus::infra {
LedgerGauges::LedgerGauges(Ledger& ledger, Metrics& metrics)
    : ledger_(ledger), metrics_(metrics), on_collect_(metrics, [this] { refresh(); }) {}

void LedgerGauges::refresh() {
  const LedgerSnapshot* snapshot = ledger_.remembered();
  if (snapshot == nullptr) return;
  refresh_balancers(*snapshot);
  refresh_pools(*snapshot);
}

void LedgerGauges::refresh_balancers(const LedgerSnapshot& snapshot) {
  double lagging = 0;
  double leaving = 0;
  for (const auto& [name, record] : snapshot.balancers) {
    if (record->is_tombstone()) continue;
    if (record->is_leaving()) ++leaving;
    const StatusRecord* status = snapshot.status(name);
    if (status == nullptr || status->status.applied_generation < record->metadata.generation) {
      ++lagging;
    }
  }
  metrics_
      .gauge("infra_load_balancers_lagging",
             "Load balancers whose present generation the host does not hold yet.")
      .set(lagging);
  metrics_.gauge("infra_load_balancers_leaving", "Load balancers whose deletion is requested.")
      .set(leaving);
}

// A pool that is gone has no addresses: its last numbers would stay for ever otherwise.
void LedgerGauges::refresh_pools(const LedgerSnapshot& snapshot) {
  auto gone = shown_;
  for (const auto& [name, record] : snapshot.pools) {
    if (record->removed) continue;
    for (const api::PoolUse& use : use_of(snapshot, record->pool, ledger_.circumstances())) {
      show(name, use);
      gone.erase({name, use.family});
    }
  }
  for (const auto& [name, family] : gone) {
    show(name, {.family = family});
    shown_.erase({name, family});
  }
}

void LedgerGauges::show(const std::string& pool, const api::PoolUse& use) {
  shown_.insert({pool, use.family});
  const std::array<std::pair<std::string_view, std::uint64_t>, 3> states = {
      {{"held", use.held}, {"cooling", use.cooling}, {"free", use.free}}};
  for (const auto& [state, count] : states) {
    metrics_
        .gauge("infra_pool_addresses", "Addresses of a pool by family and state.",
               {{"pool", pool},
                {"family", std::string(to_string(use.family))},
                {"state", std::string(state)}})
        .set(static_cast<double>(count));
  }
}

}  // namespace isthmus::infra
