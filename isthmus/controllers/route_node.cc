// One Node: its routes where the cloud is told each of them, its condition, and what it is told.
#include "isthmus/controllers/route_impl.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/pauses.h"
#include "isthmus/kube/checked_patch.h"

namespace isthmus::controllers {
namespace {

using cloud::RouteState;
using Standing = cloud::RouteState::Standing;
using Step = PlannedRoute::Step;

constexpr std::string_view kFailedToCreateRoute = "FailedToCreateRoute";

// What the API server has not confirmed, or too long ago, is asked about again this soon: it
// takes a list of all Nodes.
constexpr Duration kAskAgainAfter = std::chrono::seconds(30);

// A route that is being taken away is gone in a moment.
constexpr Duration kReleasing = std::chrono::seconds(1);

kube::FieldPath condition_field() {
  return {"status", "conditions", std::string(kNetworkUnavailable)};
}

std::string why_not_applied(const RouteState& state) {
  if (state.reason.empty()) return "the cloud has not put it in force yet";
  if (state.message.empty()) return state.reason;
  return fmt::format("{}: {}", state.reason, state.message);
}

// How an attempt at a single route ended, as a state of it.
RouteState failure_of(const cloud::Route& route, const Error& error) {
  const Standing standing = error.outcome == Outcome::conflict  ? Standing::conflict
                            : error.outcome == Outcome::invalid ? Standing::refused
                                                                : Standing::pending;
  return {.destination = route.destination,
          .instance = route.instance,
          .next_hop = route.next_hop,
          .standing = standing,
          .reason = std::string(to_string(error.outcome)),
          .message = error.message};
}

}  // namespace

Task<Result<kube::Action>> RouteController::Inside::sync_node(kube::ObjectKey key) {
  // An object that cannot be read is left alone until it can be; it is not gone.
  if (nodes.unreadable(key)) co_return kube::Action::done();
  Result<> made;
  if (singles != nullptr) made = co_await make_singles(key);
  if (made.outcome() == Outcome::cancelled) co_return std::unexpected(made.error());

  const NodePtr node = newest.find(key);
  const NodeRoutes* entry = node ? entry_of(*node) : nullptr;
  if (!node) forget(key);
  if (entry == nullptr) co_return kube::Action::done();  // The table's run wakes it again.
  if (const std::optional<Duration> rest = patience_left(*node, *entry)) {
    if (!made) co_return std::unexpected(made.error());
    co_return kube::Action::again_after(*rest);
  }
  const std::vector<Notice> notices = notices_of(*node, *entry);
  if (notices.empty()) told.erase(key);
  if (!notices.empty()) told.insert(key);
  tell_other_owner(*node);
  const std::optional<RouteCondition> due = due_condition(*node, reach_of(*entry));
  CO_TRY(co_await report(node, due, notices));
  if (!made) co_return std::unexpected(made.error());
  const std::optional<Moment> next_try = contested.next_try(node->meta);
  if (!next_try) co_return kube::Action::done();
  co_return kube::Action::again_after(std::max<Duration>(*next_try - loop.now(), kSoonest));
}

// Tells what there is to tell, and writes the condition if it is due. One that somebody else keeps
// writing over is left to them for a while.
Task<Result<>> RouteController::Inside::report(NodePtr node, std::optional<RouteCondition> due,
                                               std::vector<Notice> notices) {
  std::string message = "RouteController created a route";
  if (due && due->reason != kRouteCreated) {
    message =
        notices.empty() ? "RouteController failed to create a route" : notices.front().message;
  }
  std::vector<Wish> wrong;
  if (due) wrong.push_back({condition_field(), due->status});
  const std::vector<Wish> allowed = contested.may_write(node->meta, wrong);
  CO_TRY(co_await contested.learn_writers(api, kube::name_of(*node)));
  for (Notice& parked : contested.notices(node->meta)) notices.push_back(std::move(parked));
  teller.tell(kube::reference_to(*node), notices);
  if (allowed.empty()) co_return Result<>{};
  CO_TRY(co_await write_condition(node, *std::move(due), std::move(message)));
  contested.wrote(node->meta, allowed);
  co_return Result<>{};
}

// Makes those of its routes that do not stand. One that fails does not keep the others; the first
// failure is answered.
Task<Result<>> RouteController::Inside::make_singles(kube::ObjectKey key) {
  const NodePtr node = newest.find(key);
  const NodeRoutes* entry = node ? entry_of(*node) : nullptr;
  if (entry == nullptr || !entry->is_served) co_return Result<>{};
  const std::vector<cloud::Route> routes = entry->routes;
  Result<> first;
  for (const cloud::Route& route : routes) {
    Result<> made = co_await make_one(route);
    if (!made && first) first = std::move(made);
  }
  co_return first;
}

Task<Result<>> RouteController::Inside::make_one(cloud::Route route) {
  const PlannedRoute* one = planned(route.destination);
  if (one == nullptr || one->route != route || one->step == Step::keep) co_return Result<>{};
  if (!is_confirmed(*one)) {
    queue->enqueue_after(kRoutesKey, kAskAgainAfter);
    co_return Result<>{};
  }
  const auto is_going = std::ranges::find(removing, route.destination, &RouteState::destination);
  if (is_going != removing.end()) {
    co_return fail(Outcome::busy, "its destination is being freed", kReleasing);
  }
  Result<> made = co_await singles->ensure(route);
  if (!made) {
    if (!is_our_own(made.outcome())) {
      book.failed.insert_or_assign(route.destination, failure_of(route, made.error()));
    }
    co_return made;
  }
  book.failed.erase(route.destination);
  book.routes.insert_or_assign(route.destination, RouteState{.destination = route.destination,
                                                             .instance = route.instance,
                                                             .next_hop = route.next_hop,
                                                             .standing = Standing::applied});
  const auto place =
      std::ranges::lower_bound(plan.routes, route.destination, {},
                               [](const PlannedRoute& each) { return each.route.destination; });
  if (place != plan.routes.end() && place->route == route) place->step = Step::keep;
  log.info("route made", {{"destination", to_string(route.destination)},
                          {"machine", route.instance ? to_string(*route.instance) : ""}});
  co_return Result<>{};
}

// Null: the plan has none.
const PlannedRoute* RouteController::Inside::planned(const IpPrefix& destination) const {
  const auto place =
      std::ranges::lower_bound(plan.routes, destination, {},
                               [](const PlannedRoute& each) { return each.route.destination; });
  if (place == plan.routes.end() || place->route.destination != destination) return nullptr;
  return &*place;
}

// Null: the plan was made without this very Node.
const NodeRoutes* RouteController::Inside::entry_of(const kube::Node& node) const {
  const auto found = plan.nodes.find(node.meta.key);
  if (found == plan.nodes.end() || found->second.uid != node.meta.uid) return nullptr;
  return &found->second;
}

// Before the cloud has taken routes of ours, nothing is said about anybody's network: they may not
// be wanted at all.
Reach RouteController::Inside::reach_of(const NodeRoutes& entry) const {
  using Claim = NodeRoutes::Claim;
  if (!entry.is_ours || !book.is_taken) return Reach::unknown;
  if (entry.claim == Claim::none || entry.claim == Claim::unfit) return Reach::unknown;
  if (entry.claim == Claim::contested) return Reach::not_reached;
  const bool all = std::ranges::all_of(entry.routes, [this](const cloud::Route& route) {
    const RouteState* state = book.find(route.destination);
    return state != nullptr && state->standing == Standing::applied && is_about(*state, route);
  });
  return all ? Reach::reached : Reach::not_reached;
}

// What keeps its pods from being reached. A Node that is reached has nothing to be told, but for
// what its CIDRs are.
std::vector<Notice> RouteController::Inside::notices_of(const kube::Node& node,
                                                        const NodeRoutes& entry) const {
  std::vector<Notice> notices = entry.notices;
  if (!entry.is_served) return notices;
  const auto add = [&](const cloud::Route& route, std::string_view why, std::string sameness) {
    notices.push_back(
        {.reason = std::string(kFailedToCreateRoute),
         .message = fmt::format("Could not create route {} for node {}: {}",
                                to_string(route.destination), node.meta.key.name, why),
         .sameness = fmt::format("{} {}", to_string(route.destination), sameness)});
  };
  const kube::NodeCondition* has = node.find_condition(kNetworkUnavailable);
  const bool waits = has == nullptr || has->status != "False";
  for (const cloud::Route& route : entry.routes) {
    const RouteState* state = book.find(route.destination);
    const bool is_its_own = state != nullptr && is_about(*state, route);
    if (is_its_own && state->standing == Standing::applied) continue;
    if (is_its_own) {
      add(route, why_not_applied(*state), state->reason);
    } else if (trouble && waits) {
      add(route, fmt::format("{}: {}", to_string(trouble->outcome), trouble->message), "trouble");
    }
  }
  return notices;
}

// A route that was asked for takes a moment; until then nothing is written and nobody is told.
// nullopt: there is nothing to wait for.
std::optional<Duration> RouteController::Inside::patience_left(const kube::Node& node,
                                                               const NodeRoutes& entry) {
  const kube::ObjectKey& key = node.meta.key;
  const auto is_decided = [this](const cloud::Route& route) {
    const RouteState* state = book.find(route.destination);
    return state != nullptr && is_about(*state, route) &&
           (state->standing == Standing::conflict || state->standing == Standing::refused);
  };
  const bool waits = reach_of(entry) == Reach::not_reached &&
                     entry.claim == NodeRoutes::Claim::whole &&
                     std::ranges::none_of(entry.routes, is_decided);
  if (!waits) {
    unreached_since.erase(key);
    return std::nullopt;
  }
  const Moment since = unreached_since.emplace(key, loop.now()).first->second;
  const Duration rest = later(since, options.patience) - loop.now();
  if (rest <= Duration::zero()) return std::nullopt;
  told.insert(key);
  return rest;
}

// Once, about whichever Node is the first.
void RouteController::Inside::tell_other_owner(const kube::Node& node) {
  const std::optional<std::string_view> owner = other_owner(node);
  if (other_owner_told || !owner) return;
  other_owner_told = true;
  recorder.warning(
      kube::reference_to(node), "RoutesProbablyNotNeeded",
      fmt::format(
          "somebody else says whether the network of this Node is available ({}): a network "
          "plugin, which usually needs no routes in the cloud. Their condition is left "
          "alone. If no routes are needed, start with --configure-cloud-routes=false",
          owner->empty() ? "without a reason" : *owner));
}

// The Node it was decided on: a plugin that has spoken in between is not spoken over.
Task<Result<>> RouteController::Inside::write_condition(NodePtr node, RouteCondition condition,
                                                        std::string message) {
  const std::string now = rfc3339(loop.wall_now());
  const kube::NodeConditionChange change{
      .type = std::string(kNetworkUnavailable),
      .status = condition.status,
      .reason = condition.reason,
      .message = std::move(message),
      .heartbeat_time = now,
      .transition_time = condition.is_transition ? now : std::string()};
  kube::PatchRequest request{
      .object = kube::name_of(*node),
      .subresource = "status",
      .patch = kube::node_condition_patch(kube::unchanged(node->meta), change),
      .metadata_only = true};
  Result<std::string> answer = co_await kube::checked_patch(api, std::move(request));
  if (answer.outcome() == Outcome::absent) co_return Result<>{};
  if (!answer) co_return std::unexpected(answer.error());
  auto metadata = CO_TRY(decoder.object<kube::NodeMetadata>(*answer, node->meta.key));
  kube::Node after = *node;
  after.meta = std::move(metadata.meta);
  std::erase_if(after.conditions,
                [](const kube::NodeCondition& one) { return one.type == kNetworkUnavailable; });
  after.conditions.push_back({change.type, change.status, change.reason});
  newest.learn(*node, std::make_shared<const kube::Node>(std::move(after)));
  log.info("network condition written", {{"node", node->meta.key.name},
                                         {"unavailable", condition.status},
                                         {"reason", condition.reason}});
  co_return Result<>{};
}

void RouteController::Inside::forget(const kube::ObjectKey& key) {
  teller.forget(key);
  contested.forget(key);
  told.erase(key);
  unreached_since.erase(key);
}

}  // namespace isthmus::controllers
