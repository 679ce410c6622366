// Every load balancer that the reconciler knows of, and what concerns which of them: the memory
// between two passes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isthmus/infra/balancer_status.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/rules_keeper.h"

namespace isthmus::infra {

struct BookEntry {
  std::shared_ptr<const BalancerRecord> record;  // nullptr: no store knows it (an orphan).
  Moment seen_at{};                              // When this generation of it was first seen.
  bool is_new = true;                            // This generation of it was not looked at yet.
  bool told_to_leave = false;                    // Its deletion was requested while we looked on.
  bool held_at_start = false;  // The kernel holds it from before our time, as it was then.
  bool rules_due = true;       // False: only addresses or the status have to be looked at.

  // What came of the last pass.
  std::set<IpAddress> addresses;        // That it uses, or still uses.
  std::vector<ResolvedAddress> placed;  // Those it should have.
  std::optional<Trouble> rules_trouble;
  std::optional<Trouble> address_trouble;
  bool is_checked = false;  // It has health checks.
  bool refused = false;
  unsigned failures = 0;
  std::optional<Moment> again_at;
  TargetFacts targets;
  bool return_path_missing = false;
  Repairs repairs;
  api::LoadBalancerStatus status;
};

class BalancerBook {
 public:
  using Names = std::set<ObjectName>;

  // Takes in what the store says now, and answers whom the difference concerns: load balancers that
  // were changed, and those of target sets, pools and addresses that were. Names get an entry when
  // the store knows them as more than a tombstone; entries go by forget() only.
  Names take_in(Ledger::Snapshot snapshot, Moment now);

  // nullptr before the first take_in().
  const LedgerSnapshot* snapshot() const { return snapshot_.get(); }

  BookEntry* find(const ObjectName& name);
  const BookEntry* find(const ObjectName& name) const;
  BookEntry& enter(const ObjectName& name);
  void forget(const ObjectName& name);
  std::map<ObjectName, BookEntry>& entries() { return entries_; }
  const std::map<ObjectName, BookEntry>& entries() const { return entries_; }

  // The addresses that it uses from now on. Those that nobody uses any more are added to
  // abandoned().
  void use(const ObjectName& name, std::set<IpAddress> addresses);
  const Names& users_of(const IpAddress& address) const;
  std::set<IpAddress>& abandoned() { return abandoned_; }

  // The listeners that it serves from now on. Answers the other load balancer that serves one of
  // them, and then changes nothing.
  std::optional<std::pair<drivers::ListenerKey, ObjectName>> claim(
      const ObjectName& name, const std::set<drivers::ListenerKey>& keys);
  // It serves none any more but these.
  void disclaim(const ObjectName& name, const std::set<drivers::ListenerKey>& but);
  const RulesWork::Claims& claims() const { return claims_; }

 private:
  void take_in(const ObjectName& name, std::shared_ptr<const BalancerRecord> record,
               const LedgerSnapshot& snapshot, Moment now);

  Ledger::Snapshot snapshot_;
  std::map<ObjectName, BookEntry> entries_;
  std::map<IpAddress, Names> users_;
  std::set<IpAddress> abandoned_;
  RulesWork::Claims claims_;
  std::map<ObjectName, std::set<drivers::ListenerKey>> claimed_;
};

}  // namespace isthmus::infra
