#include "isthmus/infra/route_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace isthmus::infra {
namespace {

using api::RouteState;
using drivers::HostRoute;
using drivers::RouteChange;
using Kind = RouteChange::Kind;

// Of a host whose routes others change all the time, such as one that speaks BGP: how often they
// are read at once until nothing changed meanwhile.
constexpr int kLooksMax = 3;

void mark(WantedRoute& wanted, const IpPrefix& destination, RouteState state,
          std::string_view reason, std::string message) {
  wanted.status = {destination, state, std::string(reason), std::move(message)};
}

}  // namespace

RouteKeeper::RouteKeeper(Doors doors)
    : doors_(doors),
      convergence_(doors_.metrics.histogram(
          "infra_route_convergence_duration_seconds",
          "From when a generation of a route table was seen until all its routes were applied.",
          exponential_buckets(0.001, 4, 10))),
      gauges_(doors_.metrics, [this] { refresh_gauges(); }) {}

Result<> RouteKeeper::start(Ledger::Snapshot snapshot) {
  const std::vector<HostRoute> held = TRY(look());
  take_in(std::move(snapshot));
  WantedRoutes named;
  for (const auto& [name, entry] : tables_) {
    for (const api::RouteEntry& route : entry.record->spec.routes) named[route.destination];
  }
  tell_orphans(compare(named, held, claims()).orphans);
  return {};
}

void RouteKeeper::look_again(bool taken) {
  look_due_ = true;
  taken_due_ |= taken;
}

// Whether a next hop follows from an address of a machine, which may have changed.
bool RouteKeeper::moves_with_machines() const {
  const InstanceSnapshot* machines = doors_.ledger.circumstances().machines;
  if (machines == nullptr || machines->revision == machines_seen_) return false;
  return std::ranges::any_of(tables_, [](const auto& table) {
    return std::ranges::any_of(table.second.record->spec.routes, [](const api::RouteEntry& route) {
      return !route.next_hop.has_value();
    });
  });
}

bool RouteKeeper::is_due() const { return look_due_ || has_more_ || moves_with_machines(); }

void RouteKeeper::take_in(Ledger::Snapshot snapshot) {
  if (snapshot == nullptr) return;
  static const RecordMap<ObjectName, RouteTableRecord> kNone;
  const auto& before = snapshot_ == nullptr ? kNone : snapshot_->route_tables;
  snapshot->route_tables.for_each_difference(
      before, [&](const ObjectName& name, const std::shared_ptr<const RouteTableRecord>& record) {
        look_due_ = true;
        taken_due_ = true;
        settled_.reset();
        if (record == nullptr || record->is_tombstone()) {
          tables_.erase(name);
          gone_.erase(name);
          return;
        }
        auto [place, is_new] = tables_.try_emplace(name);
        Entry& entry = place->second;
        if (is_new || entry.record->metadata.generation != record->metadata.generation) {
          entry.seen_at = doors_.clock.now();
        }
        entry.record = record;
        if (!record->is_leaving()) gone_.erase(name);
        const RouteStatusRecord* found = snapshot->route_status(name);
        if (is_new && found != nullptr) entry.status = found->status;
      });
  snapshot_ = std::move(snapshot);
}

WantedRoutes RouteKeeper::wanted(const Surroundings& surroundings) const {
  const InstanceSnapshot* machines = doors_.ledger.circumstances().machines;
  WantedRoutes all;
  for (const auto& [name, entry] : tables_) {
    if (entry.record->is_leaving()) continue;
    resolve(*entry.record, machines, surroundings.interfaces, all);
  }
  return all;
}

RouteClaims RouteKeeper::claims() const {
  RouteClaims claims;
  for (const auto& [name, entry] : tables_) {
    claims.add(*entry.record, entry.is_applied());
  }
  return claims;
}

Result<std::vector<HostRoute>> RouteKeeper::look() {
  Result<std::vector<HostRoute>> held = doors_.book.observe();
  for (int attempt = 1; held.outcome() == Outcome::busy && attempt < kLooksMax; ++attempt) {
    held = doors_.book.observe();
  }
  if (!held) return fail("reading the routes of this host", std::move(held).error());
  return held;
}

// What was there after the last pass and is not now; a link that was down took it, or other hands.
void RouteKeeper::count_lost(const std::vector<HostRoute>& held) {
  std::size_t lost = 0;
  const HostRoute* first = nullptr;
  for (const auto& [destination, route] : made_) {
    if (std::ranges::binary_search(held, route)) continue;
    if (lost++ == 0) first = &route;
  }
  if (lost == 0) return;
  doors_.metrics
      .counter("infra_drift_repairs_total", "What others changed of ours on this host, by kind.",
               {{"kind", "route"}})
      .add(static_cast<double>(lost));
  doors_.log.warning("routes of this host were taken or changed",
                     {{"routes", lost}, {"first", to_string(first->destination)}});
}

void RouteKeeper::tell_orphans(OrphanRoutes orphans) {
  std::size_t found = 0;
  const IpPrefix* first = nullptr;
  for (const auto& [destination, next_hop] : orphans) {
    if (orphans_.contains(destination)) continue;
    if (found++ == 0) first = &destination;
  }
  if (found > 0) {
    doors_.log.warning("the kernel holds routes that no route table names; they stay",
                       {{"routes", orphans.size()}, {"new", found}, {"first", to_string(*first)}});
  }
  orphans_ = std::move(orphans);
}

// Whether the kernel holds what the last pass left there, and nothing else is another than then.
bool RouteKeeper::is_settled(const std::vector<HostRoute>& held,
                             const Surroundings& surroundings) const {
  return settled_ && !taken_due_ && settled_->machines == machines_seen_ &&
         settled_->interfaces == surroundings.interfaces &&
         settled_->not_forwarded == surroundings.not_forwarded &&
         std::ranges::equal(held, made_ | std::views::values);
}

void RouteKeeper::work(Ledger::Snapshot snapshot, const Surroundings& surroundings) {
  take_in(std::move(snapshot));
  if (!is_due()) return;
  const InstanceSnapshot* machines = doors_.ledger.circumstances().machines;
  machines_seen_ = machines == nullptr ? 0 : machines->revision;
  Result<std::vector<HostRoute>> held = look();
  look_due_ = held.outcome() == Outcome::busy;
  if (look_due_) return;
  if (!held) return fail_all(held.error(), surroundings);
  if (is_settled(*held, surroundings)) return;
  settled_.reset();
  count_lost(*held);
  made_.clear();
  for (HostRoute& route : *held) made_.emplace(route.destination, route);

  WantedRoutes all = wanted(surroundings);
  RouteWork work = compare(all, *held, claims());
  tell_orphans(std::move(work.orphans));
  leave_out_refused(work.changes, all);
  has_more_ = work.changes.size() > kRouteChangesPerPass;
  if (has_more_) work.changes.resize(kRouteChangesPerPass);
  Result<> done = carry_out(work.changes, all);
  if (done && has_more_) remember_refused(work.changes, all);
  if (done && !has_more_) {
    if (std::exchange(taken_due_, false)) {
      done = note_shadowed(all);
    } else {
      keep_shadowed(all);
    }
  }
  if (!done) return fail_all(done.error(), surroundings);
  in_trouble_ = false;
  if (!has_more_) settle(all, surroundings);
}

// What was refused in an earlier pass of this round is as it was told then.
void RouteKeeper::leave_out_refused(std::vector<RouteChange>& changes, WantedRoutes& wanted) {
  undone_.clear();
  if (!has_more_) refused_.clear();
  std::erase_if(changes, [&](const RouteChange& change) {
    auto found = refused_.find({change.kind, change.route});
    if (found == refused_.end()) return false;
    if (change.kind == Kind::remove) {
      undone_.insert(change.route.destination);
    } else {
      wanted[change.route.destination].status = found->second;
    }
    return true;
  });
}

void RouteKeeper::remember_refused(const std::vector<RouteChange>& tried,
                                   const WantedRoutes& wanted) {
  for (const RouteChange& change : tried) {
    const IpPrefix& destination = change.route.destination;
    if (change.kind == Kind::remove) {
      if (undone_.contains(destination)) refused_[{change.kind, change.route}] = {};
    } else if (const api::RouteStatus& status = wanted.at(destination).status;
               !status.reason.empty()) {
      refused_[{change.kind, change.route}] = status;
    }
  }
}

// The kernel would replace whatever stands first for the destination.
Result<> RouteKeeper::check_replaced(std::vector<RouteChange>& changes, WantedRoutes& wanted) {
  std::vector<IpPrefix> replaced;
  for (const RouteChange& change : changes) {
    if (change.kind == Kind::replace) replaced.push_back(change.route.destination);
  }
  if (replaced.empty()) return {};
  const drivers::RouteBook::TakenRoutes taken = TRY(doors_.book.taken(replaced));
  std::set<IpPrefix> foreign;
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    if (!taken[i] || taken[i]->is_ours()) continue;
    foreign.insert(replaced[i]);
    mark(wanted[replaced[i]], replaced[i], RouteState::conflict, route_reason::shadowed,
         "packets take " + to_string(*taken[i]));
  }
  std::erase_if(changes, [&](const RouteChange& change) {
    return change.kind == Kind::replace && foreign.contains(change.route.destination);
  });
  return {};
}

Result<> RouteKeeper::carry_out(std::vector<RouteChange> changes, WantedRoutes& wanted) {
  TRY(check_replaced(changes, wanted));
  if (changes.empty()) return {};
  Result<drivers::RouteBook::Refusals> refused = doors_.book.apply(changes);
  if (!refused) return fail("writing the routes of this host", std::move(refused).error());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const HostRoute& route = changes[i].route;
    const std::optional<Error>& error = (*refused)[i];
    const bool is_gone = error && error->outcome == Outcome::absent;
    if (changes[i].kind != Kind::remove) {
      taken_due_ = true;
      if (!error) made_.insert_or_assign(route.destination, route);
    } else if (!error || is_gone) {
      made_.erase(route.destination);
    } else {
      undone_.insert(route.destination);
    }
  }
  return note_refusals(changes, *refused, wanted);
}

Result<> RouteKeeper::note_refusals(const std::vector<RouteChange>& changes,
                                    const drivers::RouteBook::Refusals& refused,
                                    WantedRoutes& wanted) {
  std::vector<IpPrefix> in_the_way;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const IpPrefix& destination = changes[i].route.destination;
    if (!refused[i] || changes[i].kind == Kind::remove) continue;
    mark(wanted[destination], destination, RouteState::pending, route_reason::refused,
         refused[i]->message);
    if (refused[i]->outcome == Outcome::conflict) in_the_way.push_back(destination);
    // It was ours a moment ago, and somebody took it.
    if (refused[i]->outcome == Outcome::absent) look_due_ = true;
  }
  if (in_the_way.empty()) return {};
  const drivers::RouteBook::TakenRoutes taken = TRY(doors_.book.taken(in_the_way));
  for (std::size_t i = 0; i < in_the_way.size(); ++i) {
    mark(wanted[in_the_way[i]], in_the_way[i], RouteState::conflict, route_reason::foreign,
         taken[i] && !taken[i]->is_ours()
             ? fmt::format("{} is not from us", to_string(*taken[i]))
             : fmt::format("somebody has a route there with metric {}", drivers::kRouteMetric));
  }
  return {};
}

// A route that is there and that no packet takes is as good as none.
Result<> RouteKeeper::note_shadowed(WantedRoutes& wanted) {
  std::vector<IpPrefix> made;
  for (const auto& [destination, one] : wanted) {
    if (one.route && one.status.reason.empty()) made.push_back(destination);
  }
  if (made.empty()) return {};
  const drivers::RouteBook::TakenRoutes taken = TRY(doors_.book.taken(made));
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (taken[i] && taken[i]->is_ours()) continue;
    mark(wanted[made[i]], made[i], RouteState::conflict, route_reason::shadowed,
         taken[i] ? "packets take " + to_string(*taken[i])
                  : "packets have no way there: a route or a rule of others stops them");
  }
  return {};
}

// No look at what packets take is due: what was shadowed still is.
void RouteKeeper::keep_shadowed(WantedRoutes& wanted) const {
  for (const auto& [name, entry] : tables_) {
    for (const api::RouteStatus& route : entry.status.routes) {
      auto found = wanted.find(route.destination);
      if (route.reason != route_reason::shadowed || found == wanted.end()) continue;
      if (found->second.route && found->second.status.reason.empty()) {
        found->second.status = route;
      }
    }
  }
}

// Nobody knows more than before, so that what was known stands; the next look tries again.
void RouteKeeper::fail_all(const Error& error, const Surroundings& surroundings) {
  look_due_ = true;
  has_more_ = false;
  settled_.reset();
  if (!std::exchange(in_trouble_, true)) {
    doors_.log.error("routes of this host are not kept", {{"error", error}});
  }
  const WantedRoutes all = wanted(surroundings);
  for (auto& [name, entry] : tables_) {
    const bool is_seen = entry.status.observed_generation == entry.record->metadata.generation;
    set_status(name, entry,
               {entry.status.applied_generation,
                is_seen ? entry.status.routes : not_held(entry, all),
                error.message,
                {},
                entry.status.orphans},
               surroundings);
  }
}

// Of a generation that came while the kernel could not be asked or told: what it does not hold yet.
std::vector<api::RouteStatus> RouteKeeper::not_held(const Entry& entry,
                                                    const WantedRoutes& wanted) const {
  std::vector<api::RouteStatus> missing;
  for (const api::RouteEntry& route : entry.record->spec.routes) {
    const auto one = wanted.find(route.destination);
    const auto held = made_.find(route.destination);
    if (one == wanted.end() || held == made_.end() || one->second.route != held->second) {
      missing.push_back(
          {route.destination, RouteState::pending, std::string(route_reason::failed), ""});
      continue;
    }
    const auto before =
        std::ranges::find(entry.status.routes, route.destination, &api::RouteStatus::destination);
    if (before == entry.status.routes.end()) continue;
    if (before->reason == route_reason::shadowed) missing.push_back(*before);
  }
  return missing;
}

void RouteKeeper::settle(const WantedRoutes& wanted, const Surroundings& surroundings) {
  bool all_applied = undone_.empty();
  for (auto& [name, entry] : tables_) {
    RouteClaims own{.ranges = entry.record->spec.cluster_cidrs};
    if (!undone_.empty()) own.add(*entry.record, entry.is_applied());
    const bool is_clean = std::ranges::none_of(
        undone_, [&](const IpPrefix& destination) { return own.cover(destination); });
    if (entry.record->is_leaving()) {
      if (is_clean) gone_.insert(name);
      continue;
    }
    std::vector<api::RouteStatus> not_applied;
    for (const api::RouteEntry& route : entry.record->spec.routes) {
      const api::RouteStatus& status = wanted.at(route.destination).status;
      if (!status.reason.empty()) not_applied.push_back(status);
    }
    const std::uint64_t applied =
        is_clean ? entry.record->metadata.generation : entry.status.applied_generation;
    all_applied = all_applied && is_clean && not_applied.empty();
    set_status(name, entry,
               {applied, std::move(not_applied), {}, {}, orphans_of(*entry.record, orphans_)},
               surroundings);
  }
  if (!all_applied) return;  // What is not is tried again with every look.
  settled_ = {machines_seen_, surroundings.interfaces, surroundings.not_forwarded};
}

void RouteKeeper::set_status(const ObjectName& name, Entry& entry, RouteFindings findings,
                             const Surroundings& surroundings) {
  for (const IpPrefix& cidr : entry.record->spec.cluster_cidrs) {
    auto off = surroundings.not_forwarded.find(cidr.address.family);
    if (off != surroundings.not_forwarded.end()) findings.not_forwarded = off->second;
  }
  api::RouteTableStatus status =
      status_of(*entry.record, std::move(findings), entry.status, doors_.clock.wall_now());
  if (status == entry.status) return;
  tell(name, entry, status);
  entry.status = std::move(status);
  entry.is_unreported = true;
}

// What people follow a table by: when it came to be as it should, and why it does not.
void RouteKeeper::tell(const ObjectName& name, const Entry& entry,
                       const api::RouteTableStatus& status) {
  const api::Condition* before = api::find(entry.status.conditions, api::condition::programmed);
  const api::Condition& now = *api::find(status.conditions, api::condition::programmed);
  const bool same = before != nullptr && before->status == now.status &&
                    before->reason == now.reason && before->message == now.message &&
                    before->observed_generation == now.observed_generation;
  if (same) return;
  if (now.status == api::ConditionStatus::is_true) {
    convergence_.observe(doors_.clock.now() - entry.seen_at);
    doors_.log.info("routes programmed", {{"owner", name.owner},
                                          {"name", name.name},
                                          {"generation", now.observed_generation},
                                          {"routes", entry.record->spec.routes.size()}});
    return;
  }
  doors_.log.warning("routes not programmed", {{"owner", name.owner},
                                               {"name", name.name},
                                               {"generation", now.observed_generation},
                                               {"reason", now.reason},
                                               {"message", now.message}});
}

Task<Result<>> RouteKeeper::report() {
  if (!gone_.empty()) {
    CO_TRY(co_await doors_.ledger.finalize_route_tables({gone_.begin(), gone_.end()}));
    gone_.clear();
  }
  std::vector<ObjectName> names;
  for (const auto& [name, entry] : tables_) {
    if (entry.is_unreported) names.push_back(name);
  }
  for (const ObjectName& name : names) {
    auto place = tables_.find(name);
    if (place == tables_.end()) continue;
    place->second.is_unreported = false;
    Result<> reported = co_await doors_.ledger.report(name, place->second.status);
    if (reported) continue;
    place = tables_.find(name);
    if (place != tables_.end()) place->second.is_unreported = true;
    co_return reported;
  }
  co_return Result<>{};
}

void RouteKeeper::refresh_gauges() {
  std::map<RouteState, std::size_t> counts;
  for (const auto& [name, entry] : tables_) {
    const std::size_t all = entry.record->spec.routes.size();
    const bool is_seen = entry.status.observed_generation != 0;
    counts[is_seen ? RouteState::applied : RouteState::pending] +=
        all - std::min(all, entry.status.routes.size());
    for (const api::RouteStatus& route : entry.status.routes) ++counts[route.state];
  }
  for (RouteState state : {RouteState::applied, RouteState::pending, RouteState::conflict}) {
    doors_.metrics
        .gauge("infra_routes", "Routes of route tables by state.",
               {{"state", std::string(to_string(state))}})
        .set(static_cast<double>(counts[state]));
  }
  doors_.metrics.gauge("infra_route_tables", "Route tables that stand.")
      .set(static_cast<double>(tables_.size()));
  doors_.metrics
      .gauge("infra_orphan_routes", "Routes of ours in the kernel that no route table names.")
      .set(static_cast<double>(orphans_.size()));
}

}  // namespace isthmus::infra
