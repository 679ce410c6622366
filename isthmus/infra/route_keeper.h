// The routes of this host's kernel, from "should be there" to there; and back. A part of the one
// loop of the reconciler, which calls it in every pass.
//
// It is as level-triggered as the rest: whatever makes it due (a table or a machine changed, the
// kernel tells of changes, 30 s have passed), it reads what the kernel holds of ours, compares, and
// makes the difference, so many changes a pass. A route that the kernel refuses stops no other and
// is tried again with the next look; however many are refused, they keep no other from its turn.
//
// What of ours the kernel holds and no table knows is an orphan: it stays, and the table in whose
// cluster CIDRs it lies tells it. What goes is what a table named and no longer does, and all in
// the cluster CIDRs of one that leaves (route_table_plan.h).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/drivers/routes.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/route_resolution.h"
#include "isthmus/infra/route_status.h"

namespace isthmus::infra {

// Made in one pass: a thousand take the kernel 2 ms, and reading and comparing 5,000 some 5 ms.
inline constexpr std::size_t kRouteChangesPerPass = 1000;

// A resource; its doors outlive it.
class RouteKeeper {
 public:
  struct Doors {
    drivers::RouteBook& book;
    Ledger& ledger;
    const Clock& clock;
    Metrics& metrics;
    Logger& log;
  };

  // The host as others look at it.
  struct Surroundings {
    const std::vector<drivers::InterfaceAddress>& interfaces;  // Without addresses of ours.
    // Families the host does not forward, with what helps.
    const std::map<IpFamily, std::string>& not_forwarded;
  };

  explicit RouteKeeper(Doors doors);

  // Reads what the kernel holds and says in the log what of it no table knows; changes nothing.
  // Errors of RouteBook::observe; after busy it may be called again.
  Result<> start(Ledger::Snapshot snapshot);

  // Something of the host may be another than before. `taken` asks also which routes packets take,
  // which only now and then is worth its time.
  void look_again(bool taken);

  // Whether work() has anything to do that no change of the ledger tells.
  bool is_due() const;

  // Does whatever is due. `snapshot` is nullptr where the store does not answer: what it last said
  // goes on.
  void work(Ledger::Snapshot snapshot, const Surroundings& surroundings);

  // There was more to do than one pass does.
  bool has_more() const { return has_more_; }

  // Tells the ledger which statuses changed and which tables the kernel has nothing of any more.
  // Errors are the ledger's; what was not told is told by the next call.
  Task<Result<>> report();

 private:
  struct Entry {
    std::shared_ptr<const RouteTableRecord> record;
    Moment seen_at{};  // When this generation of it was first seen.
    api::RouteTableStatus status;
    bool is_unreported = false;

    bool is_applied() const { return status.applied_generation >= record->metadata.generation; }
  };

  // What a pass went by that left nothing to be done.
  struct Settled {
    Revision machines = 0;
    std::vector<drivers::InterfaceAddress> interfaces;
    std::map<IpFamily, std::string> not_forwarded;
  };

  void take_in(Ledger::Snapshot snapshot);
  bool is_settled(const std::vector<drivers::HostRoute>& held,
                  const Surroundings& surroundings) const;
  bool moves_with_machines() const;
  WantedRoutes wanted(const Surroundings& surroundings) const;
  RouteClaims claims() const;
  Result<std::vector<drivers::HostRoute>> look();
  void count_lost(const std::vector<drivers::HostRoute>& held);
  void tell_orphans(OrphanRoutes orphans);
  void leave_out_refused(std::vector<drivers::RouteChange>& changes, WantedRoutes& wanted);
  void remember_refused(const std::vector<drivers::RouteChange>& tried, const WantedRoutes& wanted);
  Result<> carry_out(std::vector<drivers::RouteChange> changes, WantedRoutes& wanted);
  Result<> check_replaced(std::vector<drivers::RouteChange>& changes, WantedRoutes& wanted);
  Result<> note_refusals(const std::vector<drivers::RouteChange>& changes,
                         const drivers::RouteBook::Refusals& refused, WantedRoutes& wanted);
  Result<> note_shadowed(WantedRoutes& wanted);
  void keep_shadowed(WantedRoutes& wanted) const;
  void fail_all(const Error& error, const Surroundings& surroundings);
  std::vector<api::RouteStatus> not_held(const Entry& entry, const WantedRoutes& wanted) const;
  void settle(const WantedRoutes& wanted, const Surroundings& surroundings);
  void set_status(const ObjectName& name, Entry& entry, RouteFindings findings,
                  const Surroundings& surroundings);
  void tell(const ObjectName& name, const Entry& entry, const api::RouteTableStatus& status);
  void refresh_gauges();

  Doors doors_;
  Ledger::Snapshot snapshot_;
  std::map<ObjectName, Entry> tables_;  // Tombstones are not in it.
  std::set<ObjectName> gone_;           // Of which the kernel holds nothing, and that leave.
  std::map<IpPrefix, drivers::HostRoute> made_;  // That the kernel held after the last pass.
  Revision machines_seen_ = 0;
  bool look_due_ = true;
  bool taken_due_ = true;
  bool has_more_ = false;
  std::optional<Settled> settled_;
  OrphanRoutes orphans_;       // As they were told.
  std::set<IpPrefix> undone_;  // What could not be taken away.
  // What the kernel refused since all were looked at last, with what it is told by. It is not tried
  // again before everything else had its turn.
  std::map<std::pair<drivers::RouteChange::Kind, drivers::HostRoute>, api::RouteStatus> refused_;
  bool in_trouble_ = false;  // It was told that the host's routes cannot be read or written.
  Histogram& convergence_;
  Metrics::OnCollect gauges_;
};

}  // namespace isthmus::infra
