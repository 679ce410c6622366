#include "isthmus/app/cluster_plan.h"

#include <chrono>
#include <iterator>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/scope.h"
#include "isthmus/controllers/cluster_identity.h"
#include "isthmus/controllers/eligible_nodes.h"
#include "isthmus/controllers/lifecycle_outlook.h"
#include "isthmus/controllers/node_outlook.h"
#include "isthmus/controllers/route_outlook.h"
#include "isthmus/controllers/safety_config_map.h"
#include "isthmus/controllers/service_outlook.h"
#include "isthmus/kube/list_all.h"

namespace isthmus::app {
namespace {

using controllers::Act;
using controllers::Outlook;

// Of the whole look: one list of the machines serves all Nodes.
constexpr Duration kCloudAgeMax = std::chrono::minutes(5);

Outlook unknown(std::string kind, kube::ObjectKey key, std::string reason, std::string message) {
  return {.kind = std::move(kind),
          .key = std::move(key),
          .act = Act::unknown,
          .reason = std::move(reason),
          .message = std::move(message)};
}

template <class T>
constexpr std::string_view kind_of() {
  return std::is_same_v<T, kube::Node> ? "node" : "service";
}

// The machines, and why where the cloud does not say.
class ExplainedInstances final : public cloud::Instances {
 public:
  ExplainedInstances(cloud::Instances& next, CloudSilence& silence)
      : next_(next), silence_(silence) {}

  Task<Result<cloud::Instance>> get(cloud::ProviderId id) override {
    Result<cloud::Instance> found = co_await next_.get(std::move(id));
    if (!found) co_return std::unexpected(silence_.explained(std::move(found).error()));
    silence_.has_answered();
    co_return found;
  }
  Task<Result<cloud::Listing<cloud::Instance>>> list(cloud::InstanceQuery query) override {
    Result<cloud::Listing<cloud::Instance>> listed = co_await next_.list(std::move(query));
    if (!listed) co_return std::unexpected(silence_.explained(std::move(listed).error()));
    silence_.has_answered();
    co_return listed;
  }

 private:
  cloud::Instances& next_;
  CloudSilence& silence_;
};

}  // namespace

Error CloudSilence::explained(Error error) {
  const bool is_lost = error.outcome == Outcome::lost || error.outcome == Outcome::deadline;
  if (is_lost) lost_ = error;
  return error.outcome == Outcome::busy && lost_ ? *lost_ : error;
}

Error not_shown(std::string_view verb, std::string_view resource, Error error) {
  if (error.outcome == Outcome::denied) {
    error.message = fmt::format("needs the right to {} {}: {}", verb, resource, error.message);
  } else {
    error.message = fmt::format("{} {}: {}", verb, resource, error.message);
  }
  return error;
}

Outlook ClusterPlan::not_asked(std::string kind, kube::ObjectKey key, Error error) {
  error = silence_.explained(std::move(error));
  return unknown(
      std::move(kind), std::move(key), "CloudNotAsked",
      fmt::format("the cloud cannot be asked: {}: {}", to_string(error.outcome), error.message));
}

// One that cannot be read is left alone by every controller, and said to be.
template <class T>
Task<Result<>> ClusterPlan::read(PlanWish wish, kube::Projection projection, kube::Store<T>& store,
                                 std::vector<Outlook>& outlooks) {
  Result<std::vector<kube::Decoded<T>>> all = co_await kube::list_all<T>(api_, projection);
  if (!all) {
    co_return std::unexpected(not_shown("list", T::resource.plural, std::move(all).error()));
  }
  store.replace(*std::move(all));
  if (!wish.wants(kind_of<T>())) co_return Result<>{};
  for (const auto& [key, why] : store.all_unreadable()) {
    outlooks.push_back(unknown(std::string(T::resource.kind), key, "Unreadable", why));
  }
  co_return Result<>{};
}

Task<Result<std::vector<Outlook>>> ClusterPlan::make(PlanWish wish) {
  std::vector<Outlook> outlooks;
  CO_TRY(co_await read<kube::Node>(wish, controllers::node_projection(), nodes_, outlooks));
  if (wish.wants("service")) {
    CO_TRY(
        co_await read<kube::Service>(wish, controllers::service_projection(), services_, outlooks));
  }
  if (wish.kind == "node" && !wish.name.name.empty() && !nodes_.find(wish.name)) {
    co_return fail(Outcome::absent, "there is no node " + wish.name.name);
  }
  if (wish.kind == "service" && !wish.name.name.empty() && !services_.find(wish.name)) {
    co_return fail(Outcome::absent, "there is no service " + to_string(wish.name));
  }
  CO_TRY(co_await look_at_switch(outlooks));
  if (wish.wants("node")) CO_TRY(co_await plan_nodes(wish, outlooks));
  if (wish.wants("service")) CO_TRY(co_await plan_services(wish, outlooks));
  if (wish.wants("route")) CO_TRY(co_await plan_routes(wish, outlooks));
  if (!wish.name.name.empty()) {
    std::erase_if(outlooks, [&wish](const Outlook& each) {
      return each.key != wish.name && each.reason != controllers::kMutationsStoppedReason;
    });
  }
  co_return outlooks;
}

// Whoever may not see it gets the plan all the same: it is what would be done without it. One that
// cannot be read stops the manager.
Task<Result<>> ClusterPlan::look_at_switch(std::vector<Outlook>& outlooks) {
  const kube::ObjectKey& key = options_.safety_config_map;
  auto found = co_await kube::list_all<kube::ConfigMap>(api_, {}, key);
  if (found.outcome() == Outcome::cancelled) co_return std::unexpected(found.error());
  const bool stops_all =
      found && !found->empty() &&
      (!found->front().object ||
       controllers::read_safety_settings(found->front().object->data).stop_all_mutations);
  if (!stops_all) co_return Result<>{};
  outlooks.push_back({.kind = "ConfigMap",
                      .key = key,
                      .act = Act::withhold,
                      .reason = controllers::kMutationsStoppedReason,
                      .message = "all changes are stopped: nothing of this is done meanwhile"});
  co_return Result<>{};
}

Task<Result<>> ClusterPlan::plan_nodes(PlanWish wish, std::vector<Outlook>& outlooks) {
  if (cloud_.instances() == nullptr) co_return Result<>{};
  cloud::CachedInstances cached(*cloud_.instances(), kCloudAgeMax);
  ExplainedInstances machines(cached, silence_);
  controllers::NodeOutlook outlook(options_.node.plan, nodes_, machines);
  for (const auto& [key, node] : nodes_.all()) {
    if (!wish.name.name.empty() && key != wish.name) continue;
    if (runs(kNodeControllerName)) {
      Outlook one = CO_TRY(co_await outlook.of(node));
      outlooks.push_back(std::move(one));
    }
    if (runs(kNodeLifecycleControllerName)) CO_TRY(co_await plan_life(node, machines, outlooks));
  }
  co_return Result<>{};
}

// What the other controller of Nodes adds, if anything.
Task<Result<>> ClusterPlan::plan_life(kube::Snapshot<kube::Node> node, cloud::Instances& machines,
                                      std::vector<Outlook>& outlooks) {
  const controllers::LifecyclePlanOptions& options = options_.node_lifecycle.plan;
  if (!controllers::is_watched(*node, options)) co_return Result<>{};
  const Result<cloud::Instance> machine =
      co_await machines.get(*cloud::parse_provider_id(node->provider_id));
  if (machine.outcome() == Outcome::cancelled) co_return std::unexpected(machine.error());
  // Where the cloud does not answer, the outlook of the Node says so already.
  if (!machine && machine.outcome() != Outcome::absent) co_return Result<>{};
  Scope& here = co_await current_scope();
  const Moment now = here.loop().now();
  auto life = controllers::lifecycle_outlook_of(*node, machine ? &*machine : nullptr, options, now);
  if (life) outlooks.push_back(*std::move(life));
  co_return Result<>{};
}

Task<Result<>> ClusterPlan::plan_services(PlanWish wish, std::vector<Outlook>& outlooks) {
  cloud::Provider& provider = cloud_.provider();
  const bool can = provider.capabilities().load_balancers != nullptr;
  if (!runs(kServiceControllerName) || !can) co_return Result<>{};
  Result<cloud::ClusterUid> cluster = co_await controllers::read_cluster_uid(api_);
  if (!cluster) {
    co_return std::unexpected(not_shown("get", "namespaces kube-system", cluster.error()));
  }
  const controllers::EligibleNodes eligible = controllers::eligible_nodes(nodes_.all());
  controllers::ServiceOutlook outlook(options_.service, services_, eligible, *cluster, provider);
  const Result<> learned = co_await outlook.learn();
  if (learned.outcome() == Outcome::cancelled) co_return learned;
  const bool is_named = !wish.name.name.empty();
  for (const auto& [key, service] : services_.all()) {
    if (is_named ? key != wish.name : !controllers::concerns_us(*service)) continue;
    if (!learned) {
      outlooks.push_back(not_asked("Service", key, learned.error()));
      continue;
    }
    Outlook one = CO_TRY(co_await outlook.of(service));
    outlooks.push_back(std::move(one));
  }
  if (!learned || is_named) co_return Result<>{};
  if (auto targets = outlook.of_targets()) outlooks.push_back(*std::move(targets));
  for (Outlook& orphan : outlook.of_orphans()) outlooks.push_back(std::move(orphan));
  co_return Result<>{};
}

Task<Result<>> ClusterPlan::plan_routes(PlanWish wish, std::vector<Outlook>& outlooks) {
  cloud::Provider& provider = cloud_.provider();
  const cloud::Capabilities can = provider.capabilities();
  const bool has_routes = can.route_tables != nullptr || can.routes != nullptr;
  const bool wanted =
      options_.configure_routes && !options_.route.plan.cluster_cidrs.empty() && has_routes;
  if (!runs(kRouteControllerName) || !wanted) co_return Result<>{};
  Result<cloud::ClusterUid> cluster = co_await controllers::read_cluster_uid(api_);
  if (!cluster) {
    co_return std::unexpected(not_shown("get", "namespaces kube-system", cluster.error()));
  }
  const Result<std::vector<cloud::RouteState>> present =
      co_await controllers::present_routes(*cluster, provider);
  if (present.outcome() == Outcome::cancelled) co_return std::unexpected(present.error());
  if (!present) {
    outlooks.push_back(not_asked("Route", {.name = "all"}, present.error()));
    co_return Result<>{};
  }
  for (Outlook& each : controllers::outlooks_of(
           controllers::plan_routes(nodes_.all(), *present, options_.route.plan))) {
    outlooks.push_back(std::move(each));
  }
  co_return Result<>{};
}

}  // namespace isthmus::app
