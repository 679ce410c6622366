#include "isthmus/app/cluster_facts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "isthmus/app/cluster_plan.h"
#include "isthmus/app/controller_names.h"
#include "isthmus/base/scope.h"
#include "isthmus/controllers/cluster_identity.h"
#include "isthmus/controllers/node_outlook.h"
#include "isthmus/controllers/safety_config_map.h"
#include "isthmus/kube/list_all.h"

namespace isthmus::app {
namespace {

using controllers::LeaseFacts;
using controllers::NodeFacts;
using controllers::ServiceFacts;

constexpr std::string_view kHeartbeats = "kube-node-lease";

// Events of Nodes are kept here, as Nodes are in no namespace.
constexpr std::string_view kDefaultNamespace = "default";

// A Lease that seems stale is looked at again after this: longer than a manager's retry period.
constexpr Duration kLookAgainAfter = std::chrono::seconds(3);

// The newest of them; people read no more.
constexpr std::size_t kEventsShown = 10;

constexpr Duration kCloudAgeMax = std::chrono::minutes(1);

// Why there is nobody to ask about that, given the cloud, which may be null.
Error nobody_to_ask(const cloud::Stack* cloud, std::string_view about) {
  if (cloud == nullptr) return {Outcome::unsupported, "no cloud was named"};
  return {Outcome::unsupported, fmt::format("the cloud that was named has no {}", about)};
}

// The Node as it would be handed over: so it is known which machine would be its own.
kube::Node handed_over(kube::Node node) {
  if (node.provider_id.empty() && !controllers::is_tainted(node)) {
    node.taints.push_back({.key = std::string(controllers::kUninitializedTaint)});
  }
  return node;
}

// "services in namespace shop".
std::string place_of(const kube::ResourceType& resource, const kube::ObjectKey& key) {
  std::string place(resource.plural);
  if (!key.name_space.empty()) place += " in namespace " + key.name_space;
  return place;
}

bool is_ours(const kube::Event& event) {
  return std::ranges::any_of(controller_names(), [&event](const ControllerName& each) {
    return each.event_source == event.component;
  });
}

}  // namespace

// Nothing: the API server says that there is no such object.
template <class T>
Task<Result<std::optional<T>>> ClusterFacts::read(kube::ObjectKey key,
                                                  kube::Projection projection) {
  Result<std::string> text = co_await api_.get({T::resource, key});
  if (text.outcome() == Outcome::absent) co_return std::nullopt;
  if (!text) {
    co_return std::unexpected(not_shown("get", place_of(T::resource, key), text.error()));
  }
  kube::Decoder decoder(projection);
  T object = CO_TRY(decoder.object<T>(*text, key));
  co_return std::optional<T>(std::move(object));
}

Task<Result<LeaseFacts>> ClusterFacts::look_at(kube::ObjectKey lease) {
  LeaseFacts facts{.key = lease};
  std::optional<kube::Lease> found = CO_TRY(co_await read<kube::Lease>(lease, {}));
  facts.looked_at = clock_.wall_now();
  facts.exists = found.has_value();
  if (found) facts.spec = std::move(found->spec);
  co_return facts;
}

// One that seems to be stale by our clock may only be of another clock.
Task<Result<LeaseFacts>> ClusterFacts::manager() {
  const kube::ObjectKey lease = options_.election.lease;
  LeaseFacts first = CO_TRY(co_await look_at(lease));
  if (first.spec.holder.empty() || controllers::is_fresh(first)) co_return first;
  CO_TRY(co_await sleep_for(kLookAgainAfter));
  LeaseFacts second = CO_TRY(co_await look_at(lease));
  second.moved = second.spec.renew_time != first.spec.renew_time;
  co_return second;
}

// Listed and not got, as the manager does: its own role allows no more.
Task<Result<controllers::SwitchFacts>> ClusterFacts::safety() {
  const kube::ObjectKey key = options_.safety_config_map;
  auto found = co_await kube::list_all<kube::ConfigMap>(api_, {}, key);
  if (!found) {
    co_return std::unexpected(
        not_shown("list", place_of(kube::ConfigMap::resource, key), found.error()));
  }
  controllers::SwitchFacts facts{.key = key};
  for (const kube::Decoded<kube::ConfigMap>& each : *found) {
    facts.stops_all =
        !each.object || controllers::read_safety_settings(each.object->data).stop_all_mutations;
  }
  co_return facts;
}

Task<Result<std::vector<kube::Event>>> ClusterFacts::events(std::string kind,
                                                            kube::ObjectKey about) {
  const std::string name_space =
      about.name_space.empty() ? std::string(kDefaultNamespace) : about.name_space;
  auto all = co_await kube::list_all<kube::Event>(api_, {}, {.name_space = name_space});
  if (!all) {
    co_return std::unexpected(not_shown(
        "list", place_of(kube::Event::resource, {.name_space = name_space}), all.error()));
  }
  std::vector<kube::Event> found;
  for (kube::Decoded<kube::Event>& each : *all) {
    if (!each.object || !is_ours(*each.object)) continue;
    const kube::ObjectReference& involved = each.object->involved;
    if (involved.kind == kind && involved.key == about) found.push_back(*std::move(each.object));
  }
  std::ranges::sort(found, {}, [](const kube::Event& event) {
    return std::pair(event.last_time, event.meta.key.name);
  });
  if (found.size() > kEventsShown) {
    found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(kEventsShown));
  }
  co_return found;
}

Task<Result<controllers::EligibleNodes>> ClusterFacts::eligible() {
  auto all = co_await kube::list_all<kube::Node>(api_, controllers::node_projection());
  if (!all) co_return std::unexpected(not_shown("list", "nodes", all.error()));
  kube::Store<kube::Node> nodes;
  nodes.replace(*std::move(all));
  co_return controllers::eligible_nodes(nodes.all());
}

// What it would get, and what the cloud has of it.
Task<Result<>> ClusterFacts::ask_about(const kube::Service& service, ServiceFacts& facts) {
  Result<cloud::ClusterUid> cluster = co_await controllers::read_cluster_uid(api_);
  if (!cluster) {
    const Error error = not_shown("get", "namespaces (kube-system)", cluster.error());
    facts.plan = std::unexpected(error);
    facts.balancer = std::unexpected(error);
    co_return Result<>{};
  }
  const Result<std::string> name =
      cloud::owned_name(controllers::kBalancerKind, *cluster, service.meta.uid);
  facts.balancer_name = name.value_or("");
  cloud::LoadBalancers* balancers =
      cloud_ == nullptr ? nullptr : cloud_->provider().capabilities().load_balancers;
  if (balancers == nullptr) {
    facts.balancer = std::unexpected(nobody_to_ask(cloud_, "load balancers"));
  } else if (name) {
    Result<cloud::LoadBalancerState> state = co_await balancers->get(*name);
    if (state) {
      facts.balancer = std::optional(*std::move(state));
    } else if (state.outcome() != Outcome::absent) {
      facts.balancer = std::unexpected(std::move(state).error());
    }
  }
  const controllers::EligibleNodes nodes = facts.nodes.value_or(controllers::EligibleNodes());
  facts.plan = controllers::plan_service(
      service, options_.service.plan,
      {.cluster = *cluster,
       .nodes = nodes,
       .has_balancer = facts.balancer.has_value() && facts.balancer->has_value()});
  co_return Result<>{};
}

Task<Result<ServiceFacts>> ClusterFacts::of_service(kube::ObjectKey key) {
  ServiceFacts facts{.key = key, .has_cloud = cloud_ != nullptr};
  facts.service = co_await read<kube::Service>(key, controllers::service_projection());
  if (facts.service.outcome() == Outcome::cancelled) {
    co_return std::unexpected(facts.service.error());
  }
  if (!facts.service || !*facts.service) co_return facts;
  const kube::Service& service = **facts.service;
  facts.is_served_here = controllers::is_served(service, options_.service.plan);
  auto events_found = co_await events("Service", key);
  if (events_found) {
    facts.events = *std::move(events_found);
  } else {
    facts.no_events = events_found.error();
  }
  facts.nodes = co_await eligible();
  CO_TRY(co_await ask_about(service, facts));
  facts.safety = co_await safety();
  facts.lease = co_await manager();
  co_return facts;
}

// Where not all Nodes may be seen, it is not known whether another one holds the machine.
Task<Result<controllers::Evidence>> ClusterFacts::evidence(kube::Node node) {
  if (cloud_ == nullptr || cloud_->instances() == nullptr) {
    co_return std::unexpected(nobody_to_ask(cloud_, "machines"));
  }
  kube::Store<kube::Node> nodes;
  auto all = co_await kube::list_all<kube::Node>(api_, controllers::node_projection());
  if (all) nodes.replace(*std::move(all));
  cloud::CachedInstances machines(*cloud_->instances(), kCloudAgeMax);
  controllers::NodeOutlook outlook(options_.node.plan, nodes, machines);
  Result<controllers::Evidence> found = co_await outlook.evidence_of(
      std::make_shared<const kube::Node>(handed_over(std::move(node))));
  co_return found;
}

Task<Result<NodeFacts>> ClusterFacts::of_node(kube::ObjectKey key) {
  NodeFacts facts{.key = key, .options = options_.node.plan};
  facts.node = co_await read<kube::Node>(key, controllers::node_projection());
  if (facts.node.outcome() == Outcome::cancelled) co_return std::unexpected(facts.node.error());
  if (!facts.node || !*facts.node) co_return facts;
  auto events_found = co_await events("Node", key);
  if (events_found) {
    facts.events = *std::move(events_found);
  } else {
    facts.no_events = events_found.error();
  }
  facts.evidence = co_await evidence(**facts.node);
  Result<LeaseFacts> heartbeat =
      co_await look_at({.name_space = std::string(kHeartbeats), .name = key.name});
  if (!heartbeat) {
    facts.heartbeat = std::unexpected(heartbeat.error());
  } else if (heartbeat->exists) {
    facts.heartbeat = std::optional(*std::move(heartbeat));
  }
  facts.safety = co_await safety();
  facts.lease = co_await manager();
  co_return facts;
}

}  // namespace isthmus::app
