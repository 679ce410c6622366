// All routes: what the cloud has is compared with the Nodes, and what differs is put right.
#include "isthmus/controllers/route_impl.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/fan_out.h"
#include "isthmus/base/scope.h"
#include "isthmus/controllers/pauses.h"
#include "isthmus/controllers/pod_cidr.h"

namespace isthmus::controllers {
namespace {

using cloud::RouteState;
using Step = PlannedRoute::Step;

// How many single routes are taken away at once.
constexpr std::size_t kReleasesAtOnce = 8;

// What the API server said about a move is acted on for so long: a retry asks it again.
constexpr Duration kConfirmedFor = std::chrono::seconds(10);

// The ranges of a table: the cluster's, and where routes stand outside of them the ranges in which
// these were made. Prefixes nest or are apart, so it is enough to leave out what another holds.
std::vector<IpPrefix> ranges_for(std::vector<IpPrefix> ranges, const std::vector<IpPrefix>& before,
                                 const std::vector<cloud::Route>& routes) {
  for (const cloud::Route& route : routes) {
    const auto holds = [&](const IpPrefix& range) { return range.contains(route.destination); };
    if (std::ranges::any_of(ranges, holds)) continue;
    const auto earlier = std::ranges::find_if(before, holds);
    ranges.push_back(earlier == before.end() ? route.destination : *earlier);
  }
  std::vector<IpPrefix> widest;
  for (const IpPrefix& range : ranges) {
    const auto is_wider = [&](const IpPrefix& other) {
      return other != range && other.contains(range);
    };
    if (std::ranges::none_of(ranges, is_wider)) widest.push_back(range);
  }
  std::ranges::sort(widest);
  const auto twice = std::ranges::unique(widest);
  widest.erase(twice.begin(), twice.end());
  return widest;
}

bool has(const std::vector<RouteState>& states, const RouteState& state) {
  return std::ranges::find(states, state) != states.end();
}

}  // namespace

Task<Result<kube::Action>> RouteController::Inside::sync_routes() {
  if (!cluster || !nodes.has_synced()) co_return kube::Action::done();  // The start comes again.
  const std::string_view trigger = std::exchange(nodes_changed, false) ? "node_change" : "periodic";
  const Result<bool> changed = co_await sync_all();
  if (changed.outcome() == Outcome::cancelled) co_return std::unexpected(changed.error());
  metrics.count_sync(!changed ? "error" : *changed ? "changed" : "noop", trigger);
  const bool is_news = trouble.has_value() != !changed;
  if (!changed && plan_is_old) make_plan();  // Who waits is told why.
  trouble = changed ? std::nullopt : std::optional(changed.error());
  if (trouble && is_news) log.warning("routes cannot be put right", {{"why", *trouble}});
  if (!trouble && is_news) log.info("routes can be put right again", {});
  wake_due_nodes();
  if (!changed) co_return std::unexpected(changed.error());
  co_return next_look();
}

// Answers whether anything was written. What could not be confirmed is left as it is, and keeps
// nobody else waiting.
Task<Result<bool>> RouteController::Inside::sync_all() {
  CO_TRY(co_await look());
  const Result<> verified = co_await verify();
  if (!verified && is_our_own(verified.outcome())) co_return std::unexpected(verified.error());
  if (plan_is_old) make_plan();
  Task<Result<bool>> writing = tables == nullptr ? release_singles() : write_table();
  const bool written = CO_TRY(co_await std::move(writing));
  if (!verified) co_return std::unexpected(verified.error());
  co_return written;
}

// What the cloud has now; while it tells by itself, that is known. What was heard of a table does
// not say over which version of it our next one may be written: before that it is got.
Task<Result<>> RouteController::Inside::look() {
  if (tables == nullptr) {
    const cloud::Listing<RouteState> listing = CO_TRY(co_await singles->list());
    book.learn(listing);
    co_return Result<>{};
  }
  if (is_heard && book.is_known && !must_get) co_return Result<>{};
  must_get = false;  // What is heard meanwhile may say otherwise.
  heard_generation = 0;
  Result<cloud::RouteTableState> table = co_await tables->get(table_name);
  if (table && table->generation < heard_generation) {
    table = fail(Outcome::conflict, "the table was changed while it was read");
  }
  if (table) {
    book.learn(std::optional(*std::move(table)));
  } else if (table.outcome() == Outcome::absent) {
    book.learn(std::optional<cloud::RouteTableState>());
  } else {
    must_get = true;
    co_return std::unexpected(table.error());
  }
  co_return Result<>{};
}

void RouteController::Inside::make_plan() {
  plan = plan_routes(nodes.all(), book.all(), options.plan);
  plan_is_old = false;
}

// Works out the plan, and asks the API server itself where something that stands would be moved,
// covered or taken away. Afterwards `confirmed` and `removing` are what may be.
Task<Result<>> RouteController::Inside::verify() {
  make_plan();
  confirmed.clear();
  removing.clear();
  std::vector<RouteState> due = removable();
  const bool needs_witness = std::ranges::any_of(plan.routes, &PlannedRoute::needs_witness);
  if (due.empty() && !needs_witness) co_return Result<>{};
  const Moment asked_at = loop.now();
  const LivePodCidrs live = CO_TRY(co_await read_live_pod_cidrs(api));
  confirmed_at = asked_at;
  make_plan();
  judge(live, due);
  if (const Result<> released = brakes(); !released && !due.empty()) {
    hold(released.error());
    due.clear();
  }
  removing = std::move(due);
  co_return Result<>{};
}

// Those whose time has come. A view that may be a lie is no evidence against any route, and what
// the cloud does not let us name cannot be taken away by naming it no longer.
std::vector<RouteState> RouteController::Inside::removable() {
  const Result<> released = brakes();
  if (!released) {
    hold(released.error());
    return {};
  }
  std::vector<RouteState> named = plan.ownerless;
  std::erase_if(named,
                [this](const RouteState& state) { return book.was_left_out(state.destination); });
  std::vector<RouteState> due =
      removals.pass(named, plan.routes.size() + plan.ownerless.size(), loop.now());
  if (!std::exchange(held_because, {}).empty()) log.info("routes may be taken away again", {});
  metrics.withheld.set(0);
  return due;
}

// Drops from `due` what a Node has after all, and confirms what needs it: the Node has the
// destination. Both only where no Node that the plan does not know has part of it.
void RouteController::Inside::judge(const LivePodCidrs& live, std::vector<RouteState>& due) {
  LivePodCidrs seen;
  for (const auto& [key, node] : nodes.all()) {
    for (const IpPrefix& cidr : pod_cidrs_of(*node)) seen.add(cidr, node->meta.uid);
  }
  for (const PlannedRoute& one : plan.routes) {
    if (!one.needs_witness()) continue;
    const IpPrefix& destination = one.route.destination;
    const std::string& uid = plan.nodes.at(one.node).uid;
    if (!live.has(destination, uid) || live.any_unseen_overlaps(destination, seen)) continue;
    confirmed.emplace(destination, uid);
  }
  if (live.nodes() == 0) due.clear();
  std::erase_if(due, [&](const RouteState& state) {
    if (!live.any_unseen_overlaps(state.destination, seen)) return !has(plan.ownerless, state);
    removals.acquit(state.destination);
    log.warning("a route is kept: the API server knows a Node that has it, and we do not see it",
                {{"destination", to_string(state.destination)}});
    return true;
  });
}

Result<> RouteController::Inside::brakes() const {
  if (nodes.all().empty()) return fail(Outcome::lost, "no Node is seen");
  if (!nodes.all_unreadable().empty()) {
    return fail(Outcome::lost,
                fmt::format("{} Nodes cannot be read, {} among them", nodes.all_unreadable().size(),
                            nodes.all_unreadable().begin()->first.name));
  }
  if (!book.is_complete) return fail(Outcome::lost, "the cloud's list of routes is not complete");
  TRY(nodes_are_current());
  return deletions_are_safe();
}

// A removal that is held back is told three ways: in the log, by a metric and by an event.
void RouteController::Inside::hold(const Error& why) {
  metrics.withheld.set(static_cast<double>(plan.ownerless.size()));
  if (plan.ownerless.empty()) return;
  if (held_because == why.message && loop.now() - held_told_at < kTellAgain) return;
  held_because = why.message;
  held_told_at = loop.now();
  log.warning("routes without a Node are kept",
              {{"routes", plan.ownerless.size()}, {"why", why.message}});
  recorder.warning(
      {.api_version = "v1",
       .kind = "Namespace",
       .key = {.name = "kube-system"},
       .uid = cluster->text()},
      "RouteRemovalWithheld",
      fmt::format("{} routes without a Node are kept: {}", plan.ownerless.size(), why.message));
}

bool RouteController::Inside::is_confirmed(const PlannedRoute& one) const {
  if (!one.needs_witness()) return true;
  if (loop.now() > later(confirmed_at, kConfirmedFor)) return false;
  const auto entry = plan.nodes.find(one.node);
  return entry != plan.nodes.end() &&
         confirmed.contains({one.route.destination, entry->second.uid});
}

cloud::RouteTableSpec RouteController::Inside::wanted_table() const {
  cloud::RouteTableSpec spec{.name = table_name,
                             .labels = {{std::string(cloud::kClusterLabel), cluster->text()}}};
  for (const PlannedRoute& one : plan.routes) {
    if (is_confirmed(one)) {
      spec.routes.push_back(one.route);
    } else if (one.step == Step::move) {
      spec.routes.push_back(route_of(one.present));
    }
  }
  for (const RouteState& state : plan.ownerless) {
    if (!has(removing, state)) spec.routes.push_back(route_of(state));
  }
  std::ranges::sort(spec.routes, {}, &cloud::Route::destination);
  spec.ranges = ranges_for(options.plan.cluster_cidrs, book.ranges, spec.routes);
  return spec;
}

// One call, whatever has changed.
Task<Result<bool>> RouteController::Inside::write_table() {
  cloud::RouteTableSpec spec = wanted_table();
  if (book.is_as_asked(spec, loop.now())) co_return false;
  const std::vector<RouteState> removed = std::exchange(removing, {});
  const std::map<IpPrefix, RouteState> before = book.routes;
  if (!removed.empty()) removals.removed(loop.now());  // Also if the answer is lost on its way.
  is_writing = true;
  heard_generation = 0;
  Result<cloud::RouteTableState> answer = co_await tables->ensure(spec);
  is_writing = false;
  if (!answer) must_get = true;  // The next pass plans by what there is then.
  cloud::RouteTableState table = CO_TRY(std::move(answer));
  const bool is_overtaken = heard_generation > table.generation;
  const bool is_news = book.sent != spec || table.generation != book.sent_generation;
  book.learn_ensured(std::move(spec), std::move(table), loop.now());
  if (is_overtaken) {  // Somebody else has changed it since: what it is now is asked.
    book.is_known = false;
    queue->enqueue(kRoutesKey, Priority::fresh);
  }
  metrics.removed.add(static_cast<double>(removed.size()));
  for (const RouteState& state : removed) {
    log.info("route taken away: no Node has it", {{"destination", to_string(state.destination)}});
  }
  log.info("routes written", {{"routes", book.routes.size()},
                              {"removed", removed.size()},
                              {"generation", book.generation}});
  wake_changed(before);
  co_return is_news;
}

// Single routes are made under the keys of their Nodes; here they are taken away.
Task<Result<bool>> RouteController::Inside::release_singles() {
  if (removing.empty()) co_return false;
  removals.removed(loop.now());
  const std::vector<RouteState> items = removing;
  const std::vector<Result<>> outcomes =
      co_await fan_out(items, kReleasesAtOnce, &Inside::release_one, std::ref(*this));
  removing.clear();
  for (const Result<>& outcome : outcomes) {
    if (!outcome && outcome.outcome() != Outcome::conflict) {
      co_return std::unexpected(outcome.error());
    }
  }
  co_return true;
}

// Its destination may have found a Node since the pass began; then it is no longer ownerless. So
// may a brake have been put on, of which the next pass tells.
Task<Result<>> RouteController::Inside::release_one(RouteState state, Inside& self) {
  if (self.plan_is_old) self.make_plan();
  if (!has(self.plan.ownerless, state) || !self.brakes()) co_return Result<>{};
  CO_TRY(co_await self.singles->release(state));
  self.book.routes.erase(state.destination);
  self.metrics.removed.add();
  self.log.info("route taken away: no Node has it",
                {{"destination", to_string(state.destination)}});
  co_return Result<>{};
}

// While a brake holds, no removal is worth a pass of its own.
kube::Action RouteController::Inside::next_look() const {
  Duration next = options.reconcile_every;
  const bool must_ask = tables != nullptr && !is_heard && !book.settled;
  if (must_ask) next = std::min(next, options.unsettled_again_after);
  if (const std::optional<Moment> pass = removals.next_pass(); pass && brakes()) {
    next = std::min(next, std::max<Duration>(*pass - loop.now(), kSoonest));
  }
  return kube::Action::again_after(next);
}

}  // namespace isthmus::controllers
