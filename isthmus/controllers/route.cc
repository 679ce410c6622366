#include "isthmus/controllers/route.h"

#include <algorithm>

#include "isthmus/base/backoff.h"
#include "isthmus/base/scope.h"
#include "isthmus/controllers/cluster_identity.h"
#include "isthmus/controllers/node.h"
#include "isthmus/controllers/pauses.h"
#include "isthmus/controllers/route_impl.h"

namespace isthmus::controllers {
namespace {

// A cloud that does not tell by itself may be another one tomorrow.
constexpr Duration kSilentAgainAfter = std::chrono::minutes(10);

cloud::RouteTables* tables_of(cloud::Provider& provider) {
  return provider.capabilities().route_tables;
}

cloud::Routes* singles_of(cloud::Provider& provider) {
  const cloud::Capabilities can = provider.capabilities();
  ISTHMUS_ASSERT(can.route_tables != nullptr || can.routes != nullptr,
                 "a route controller for a cloud without routes");
  return can.route_tables == nullptr ? can.routes : nullptr;
}

}  // namespace

RouteController::RouteController(RouteControllerOptions options, RouteDoors doors)
    : inside_(std::make_unique<Inside>(std::move(options), std::move(doors))) {}

RouteController::~RouteController() = default;

Task<Result<kube::Action>> RouteController::reconcile(kube::ObjectKey key) {
  return key == kRoutesKey ? inside_->sync_routes() : inside_->sync_node(std::move(key));
}

Task<Result<>> RouteController::run(kube::Controller& queue) { return inside_->run(queue); }

RouteController::Inside::Inside(RouteControllerOptions options_, RouteDoors doors)
    : options(std::move(options_)),
      nodes(doors.nodes),
      api(doors.api),
      tables(tables_of(doors.cloud)),
      singles(singles_of(doors.cloud)),
      recorder(doors.recorder),
      loop(doors.loop),
      random(doors.random),
      log(doors.log),
      nodes_are_current(std::move(doors.nodes_are_current)),
      deletions_are_safe(std::move(doors.deletions_are_safe)),
      newest(doors.nodes),
      teller(doors.recorder),
      decoder(node_projection()),
      removals(options.removals),
      contested(doors.loop, doors.metrics, {.controller = std::string(kName)}),
      metrics(doors.metrics, book, plan) {
  ISTHMUS_ASSERT(!options.plan.cluster_cidrs.empty(), "routes lie inside of something");
  nodes.subscribe([this](const kube::Difference<kube::Node>& difference) { note(difference); });
}

Task<Result<>> RouteController::Inside::run(kube::Controller& runner) {
  queue = &runner;
  CO_TRY(co_await identify());
  Scope& outer = co_await current_scope();
  Scope scope(outer);
  scope.spawn(&Inside::follow_nodes, this);
  if (tables != nullptr) scope.spawn(&Inside::follow_cloud, this);
  Result<> ended = co_await scope.join();
  co_return ended;
}

Task<Result<>> RouteController::Inside::identify() {
  Backoff backoff(loop, random, kFollowBackoff, kFollowQuiet);
  bool is_told = false;
  for (;;) {
    Result<cloud::ClusterUid> uid = co_await read_cluster_uid(api);
    if (uid) {
      cluster = *std::move(uid);
      table_name = cloud::cluster_name(kRouteTableKind, *cluster);
      co_return Result<>{};
    }
    if (uid.outcome() == Outcome::cancelled) co_return std::unexpected(uid.error());
    if (!std::exchange(is_told, true)) {
      log.warning("routes wait: which cluster this is, is not known", {{"why", uid.error()}});
    }
    CO_TRY(co_await sleep_for(backoff.next()));
  }
}

// The first pass comes as soon as the Nodes are known; then each comes when they are quiet.
Task<Result<>> RouteController::Inside::follow_nodes() {
  CO_TRY(co_await nodes.synced().wait());
  dirty.clear();
  queue->enqueue(kRoutesKey, Priority::resync);
  for (;;) {
    CO_TRY(co_await dirty.wait());
    const Moment latest = later(loop.now(), options.debounce_max);
    while (dirty.is_set() && loop.now() < latest) {
      dirty.clear();
      CO_TRY(co_await sleep_until(std::min(later(loop.now(), options.debounce), latest)));
    }
    dirty.clear();
    nodes_changed = true;
    queue->enqueue(kRoutesKey, Priority::fresh);
  }
}

Task<Result<>> RouteController::Inside::follow_cloud() {
  Backoff backoff(loop, random, kFollowBackoff, kFollowQuiet);
  for (;;) {
    bool is_first = true;
    const Result<> ended = co_await tables->follow(
        table_name, [this, &is_first](std::optional<cloud::RouteTableState> table) {
          hear(std::move(table), std::exchange(is_first, false));
        });
    is_heard = false;
    if (ended.outcome() == Outcome::cancelled) co_return ended;
    // Then passes ask, as often as they have to; they say as well if it has no routes at all.
    const bool is_silent = ended.outcome() == Outcome::unsupported;
    if (!ended && !is_silent && !std::exchange(is_out, true)) {
      log.warning("news of routes is interrupted", {{"error", ended.error()}});
    }
    CO_TRY(co_await sleep_for(is_silent ? kSilentAgainAfter : backoff.next()));
  }
}

// What concerns all routes makes them dirty; a condition that somebody changed is its Node's.
void RouteController::Inside::note(const kube::Difference<kube::Node>& difference) {
  if (route_change_matters(difference)) {
    dirty.set();
    plan_is_old = true;
    if (!difference.after && queue != nullptr) queue->enqueue(difference.key, Priority::resync);
    return;
  }
  const kube::NodeCondition* before = difference.before->find_condition(kNetworkUnavailable);
  const kube::NodeCondition* after = difference.after->find_condition(kNetworkUnavailable);
  const bool is_same = before == nullptr || after == nullptr ? before == after : *before == *after;
  if (!is_same && queue != nullptr) queue->enqueue(difference.key, Priority::fresh);
}

void RouteController::Inside::hear(std::optional<cloud::RouteTableState> table, bool is_first) {
  if (std::exchange(is_out, false)) log.info("news of routes is back", {});
  is_heard = true;
  // Told before our last ensure or get was answered; what came since is told next.
  const std::uint64_t known = std::max(book.sent_generation, book.generation);
  if (!is_first && table && table->generation != 0 && table->generation < known) return;
  const std::map<IpPrefix, cloud::RouteState> before = book.routes;
  book.learn(table);
  heard_generation = book.generation;
  const bool changed_by_others = !is_writing && book.was_changed_by_others();
  if (changed_by_others && !is_first) {
    log.warning("somebody else changed the table of routes", {{"table", table_name}});
  }
  if (is_first || changed_by_others) {
    must_get = true;
    queue->enqueue(kRoutesKey, Priority::fresh);
  }
  wake_changed(before);
}

void RouteController::Inside::wake_changed(const std::map<IpPrefix, cloud::RouteState>& before) {
  for (const PlannedRoute& planned : plan.routes) {
    const auto was = before.find(planned.route.destination);
    const auto is = book.routes.find(planned.route.destination);
    const bool is_same = was == before.end() || is == book.routes.end()
                             ? was == before.end() && is == book.routes.end()
                             : was->second == is->second;
    if (!is_same && !planned.node.name.empty()) queue->enqueue(planned.node, Priority::fresh);
  }
}

// After a pass: every Node about which something is to be done or said.
void RouteController::Inside::wake_due_nodes() {
  for (const auto& [key, entry] : plan.nodes) {
    if (is_due(key, entry)) queue->enqueue(key, Priority::resync);
  }
}

bool RouteController::Inside::is_due(const kube::ObjectKey& key, const NodeRoutes& entry) const {
  if (told.contains(key)) return true;
  const kube::Snapshot<kube::Node> node = newest.find(key);
  if (!node || !entry.is_served) return false;
  if (!notices_of(*node, entry).empty()) return true;
  if (singles != nullptr) {
    const auto has_to_be_made = [this](const cloud::Route& route) {
      const PlannedRoute* one = planned(route.destination);
      return one != nullptr && one->step != PlannedRoute::Step::keep;
    };
    if (std::ranges::any_of(entry.routes, has_to_be_made)) return true;
  }
  if (!other_owner_told && other_owner(*node)) return true;
  return due_condition(*node, reach_of(entry)).has_value();
}

}  // namespace isthmus::controllers
