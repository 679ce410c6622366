// The changes that concern one owner: of its load balancers, target sets and route tables, of the
// addresses it holds, and of the pools it may use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/infra/access.h"
#include "isthmus/infra/event_source.h"
#include "isthmus/infra/ledger.h"

namespace isthmus::infra {

// Each object that was touched is told once, as it stands when it is told, at the revision of the
// last commit that touched it: somebody who reads slowly sees the newest states and not all those
// between. A load balancer whose spec, addresses or status changed is one event with all of them.
// Of what the ledger has forgotten meanwhile nothing is told: it was removed before. An address is
// told as removed once it has cooled down, also where its record is gone or somebody else's by now.
// A pool is told as it is configured, without its use, which changes with every address.
//
// All that is passed outlives it.
class OwnerEvents final : public EventSource {
 public:
  // For an admin, all pools are shown.
  OwnerEvents(Ledger& ledger, const Access& access, const Clock& clock, std::string owner,
              bool sees_all_pools);

  std::string_view prefix() const override { return ""; }
  Task<Result<std::vector<api::WatchEvent>>> events_of(Changes changes, Revision before) override;

 private:
  std::string touched(const std::string& key) const;
  // `last_own` is the value that the address last had while it was this owner's.
  std::optional<api::WatchEvent> event_of(const LedgerSnapshot& snapshot, std::string_view key,
                                          const std::optional<AddressRecord>& last_own);
  std::optional<api::WatchEvent> own_event(const LedgerSnapshot& snapshot, std::string_view key);
  std::optional<api::WatchEvent> pool_event(const LedgerSnapshot& snapshot, std::string_view name);
  std::optional<api::WatchEvent> address_event(const LedgerSnapshot& snapshot,
                                               std::string_view address,
                                               const std::optional<AddressRecord>& last_own);
  std::optional<AddressRecord> own_address(const Change& change) const;

  Ledger& ledger_;
  const Access& access_;
  const Clock& clock_;
  const std::string owner_;
  const bool sees_all_pools_;
};

}  // namespace isthmus::infra
