// A stage for tests of the route controller: the real watcher, store and runner around it, an API
// server and a cloud in memory, and time that only passes when told. The manager can be killed and
// started anew; the API server and the cloud stay.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/json.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/cloud/ownership.h"
#include "isthmus/controllers/diary_testing.h"
#include "isthmus/controllers/node.h"
#include "isthmus/controllers/pod_cidr.h"
#include "isthmus/controllers/route.h"
#include "isthmus/kube/api/namespace.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/kube/watcher.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers::testing {

// What the manager tells the controller of the world around it; a test may step on either brake.
struct RouteBrakes {
  Result<> nodes_are_current = {};
  Result<> deletions_are_safe = {};
};

// What one process of the manager has of its own.
struct RouteManager {
  RouteManager(VirtualWorld& world, kube::ApiDoor& api, cloud::Provider& cloud,
               kube::Recorder& events, Random& random, Logger& log, const RouteBrakes& brakes,
               RouteControllerOptions options)
      : watcher(api, kube::Node::resource, sink, world.loop, random, metrics, log),
        controller(std::move(options), {nodes, api, cloud, events, world.loop, random, metrics, log,
                                        [&brakes] { return brakes.nodes_are_current; },
                                        [&brakes] { return brakes.deletions_are_safe; }}),
        runner({.queue = "Routes"}, {controller}, world.loop, random, metrics, log),
        scope(world.loop) {
    scope.spawn(&kube::Watcher::run, &watcher);
    scope.spawn(&kube::Controller::run, &runner);
    scope.spawn(&RouteController::run, &controller, std::ref(runner));
  }

  Metrics metrics;
  kube::Store<kube::Node> nodes;
  kube::StoreSink<kube::Node> sink{nodes, node_projection()};
  kube::Watcher watcher;
  RouteController controller;
  kube::Controller runner;
  Scope scope;  // Last: what runs in it ends before what it uses.
};

class RouteStory : public ::testing::Test {
 protected:
  static constexpr std::string_view kClusterUid = "6f0c3b1e-0f5a-4c4e-9d55-0a6f2a1f7b11";
  static constexpr std::string_view kUninitialized =
      R"([{"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}])";

  RouteStory() {
    api.put(kube::Namespace::resource,
            fmt::format(R"({{"metadata": {{"name": "kube-system", "uid": "{}"}}}})", kClusterUid));
    options.plan = {.scheme = "isthmus",
                    .cluster_cidrs = parse_cluster_cidrs("10.244.0.0/16,fd00::/48").value()};
  }

  void start() {
    manager =
        std::make_unique<RouteManager>(world, api, cloud, events, random, log, brakes, options);
  }
  void kill() { manager.reset(); }

  // A Node that the node controller is done with: node1 has the machine isthmus://1 and the pod
  // CIDR 10.244.1.0/24, unless told otherwise.
  void add_node(int number, std::string cidrs = {}, std::string machine = {}) {
    if (cidrs.empty()) cidrs = fmt::format("\"10.244.{}.0/24\"", number);
    if (machine.empty()) machine = std::to_string(number);
    add_machine(machine);
    put_node(name(number),
             fmt::format(R"({{"providerID": "isthmus://{}", "podCIDRs": [{}]}})", machine, cidrs));
  }
  void add_machine(const std::string& id) {
    const cloud::ProviderId machine{"isthmus", id};
    for (const cloud::Instance& known : cloud.machines) {
      if (known.provider_id == machine) return;
    }
    cloud.add(id, "machine" + id);
  }
  void put_node(const std::string& node, std::string_view spec) {
    api.put(
        kube::Node::resource,
        fmt::format(R"({{"metadata": {{"name": "{}"}}, "spec": {}, "status": {{}}}})", node, spec));
  }
  void remove_node(int number) { api.erase(kube::Node::resource, {"", name(number)}); }
  static std::string name(int number) { return fmt::format("node{}", number); }

  // Another writer: changes the Node as it is now.
  void change(const std::string& node, const std::function<void(json::object&)>& edit) {
    json::value object = api.see(kube::Node::resource, {"", node});
    edit(object.as_object());
    api.put(kube::Node::resource, compact_json(object));
  }
  void set_condition(const std::string& node, std::string_view status, std::string_view reason) {
    change(node, [&](json::object& object) {
      object["status"] = {
          {"conditions", json::array{{{"type", "NetworkUnavailable"},
                                      {"status", status},
                                      {"reason", reason},
                                      {"lastTransitionTime", "2020-01-01T00:00:00Z"}}}}};
    });
  }

  std::string text(const std::string& node, std::string_view pointer) const {
    const json::value object = api.see(kube::Node::resource, {"", node});
    boost::system::error_code none;
    const json::value* found = object.find_pointer(pointer, none);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
  }
  // "False RouteCreated"; empty: there is no condition.
  std::string condition(int number) const {
    const std::string at = "/status/conditions/0/";
    const std::string status = text(name(number), at + "status");
    return status.empty() ? status : status + " " + text(name(number), at + "reason");
  }

  // The machine that packets to it reach; empty: none.
  std::string routed(std::string_view destination) const {
    const auto found = cloud.router.standing.find(parse_prefix(destination).value());
    if (found == cloud.router.standing.end()) return {};
    return found->second.instance ? found->second.instance->id : "?";
  }
  std::string routed(int number) const { return routed(fmt::format("10.244.{}.0/24", number)); }

  std::string table_name() const {
    return cloud::cluster_name(kRouteTableKind, cloud::ClusterUid::parse(kClusterUid).value());
  }
  void by_single_routes() {
    cloud.has_route_tables = false;
    cloud.has_routes = true;
  }

  unsigned patches() const { return api.calls(kube::testing::Verb::patch, "nodes"); }
  bool measures(std::string_view line) {
    return manager->metrics.text().find(std::string(line) + "\n") != std::string::npos;
  }
  void pass(Duration time) { world.advance(time); }

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
  providers::fake::FakeProvider cloud{"isthmus"};
  SeededRandom random{11};
  MemoryLogger log;
  Diary events;
  RouteBrakes brakes;
  RouteControllerOptions options;
  std::unique_ptr<RouteManager> manager;  // Last: it ends before what it uses.
};

}  // namespace isthmus::controllers::testing
