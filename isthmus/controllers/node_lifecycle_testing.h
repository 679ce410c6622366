// A stage for tests of the node lifecycle controller: the node controller beside it in one queue,
// the real watcher, store and cache around them, and in memory an API server with kubelets, their
// Leases and the judgement of Kubernetes on them, and a cloud that can be told to lie.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/json.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/cloud/cache.h"
#include "isthmus/controllers/diary_testing.h"
#include "isthmus/controllers/node.h"
#include "isthmus/controllers/node_lifecycle.h"
#include "isthmus/controllers/witnesses_testing.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/kube/watcher.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers::testing {

using namespace std::chrono_literals;

class LifecycleStory : public ::testing::Test {
 public:
  explicit LifecycleStory(NodeLifecycleOptions options = {})
      : lifecycle(with_scheme(std::move(options)), doors()) {}

  static std::string name(int i) { return fmt::format("node{}", i); }

  // Nodes node0, node1 … of zone a, with their machines and kubelets, initialized and Ready.
  void add_nodes(int count, std::string_view zone = "a") {
    for (int i = 0; i < count; ++i) add_node(name(static_cast<int>(nodes_made_++)), zone);
  }
  void add_node(const std::string& node, std::string_view zone = "a") {
    cloud.add(node, node, {{cloud::AddressType::internal_ip, "10.0.0.1"}}).zone = zone;
    put(node, {{"providerID", "isthmus://" + node}}, zone);
    heartbeats.start(node);
  }
  void put(const std::string& node, json::object spec, std::string_view zone = "a",
           bool ready = true) {
    const json::value object{
        {"metadata",
         {{"name", node},
          {"labels", {{"topology.kubernetes.io/zone", zone}}},
          {"annotations", json::object()}}},
        {"spec", std::move(spec)},
        {"status",
         {{"conditions", json::array{{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}},
          {"addresses", json::array{{{"type", "InternalIP"}, {"address", "10.0.0.1"}}}}}}};
    api.put(kube::Node::resource, compact_json(object));
  }

  // Lets the Nodes grow old, then starts everything.
  void start() {
    pass(1h);
    scope.spawn(&kube::Watcher::run, &watcher);
    scope.spawn(&kube::Controller::run, &runner);
    scope.spawn(&NodeLifecycleController::run, &lifecycle, std::ref(runner));
    runner.follow<kube::Node>(nodes, node_change_matters);
    pass(2s);
  }

  // The kubelet falls silent, and Kubernetes notices after 40 s.
  void stop_kubelet(const std::string& node) {
    heartbeats.stop(node);
    unready_at_[node] = world.loop.now() + 40s;
  }
  void start_kubelet(const std::string& node) {
    heartbeats.start(node);
    unready_at_.erase(node);
    set_ready(node, true);
  }
  void set_ready(const std::string& node, bool ready) {
    if (!exists(node)) return;
    change(node, [&](json::value& object) {
      object.at_pointer("/status/conditions/0/status") = ready ? "True" : "Unknown";
    });
  }
  cloud::Instance& machine(const std::string& node) {
    for (cloud::Instance& each : cloud.machines) {
      if (each.provider_id.id == node) return each;
    }
    ADD_FAILURE() << node << " has no machine";
    return cloud.machines.front();
  }
  void shut_down(const std::string& node) {
    machine(node).power = cloud::Power::stopped;
    stop_kubelet(node);
  }
  void power_on(const std::string& node) { machine(node).power = cloud::Power::running; }
  void destroy(const std::string& node) {
    cloud.remove(node);
    stop_kubelet(node);
  }

  void change(const std::string& node, const std::function<void(json::value&)>& edit) {
    json::value object = api.see(kube::Node::resource, {"", node});
    edit(object);
    api.put(kube::Node::resource, compact_json(object));
  }
  void annotate(const std::string& node, std::string_view key, std::string_view value) {
    change(node, [&](json::value& object) {
      object.at_pointer("/metadata/annotations").as_object()[key] = value;
    });
  }
  bool exists(const std::string& node) const {
    return !api.see(kube::Node::resource, {"", node}).is_null();
  }
  bool has_taint(const std::string& node, std::string_view key) const {
    const json::value object = api.see(kube::Node::resource, {"", node});
    return compact_json(object.at("spec")).find(key) != std::string::npos;
  }
  std::string uid(const std::string& node) const {
    const json::value object = api.see(kube::Node::resource, {"", node});
    return std::string(object.at_pointer("/metadata/uid").as_string());
  }
  double value(std::string_view series) {
    const std::string text = metrics.text();
    const std::size_t place = text.find("\n" + std::string(series) + " ");
    return place == std::string::npos ? 0 : std::stod(text.substr(place + series.size() + 2));
  }
  std::size_t count_nodes() const { return api.keys(kube::Node::resource).size(); }

  void pass(Duration time) {
    for (const Moment end = world.loop.now() + time; world.loop.now() < end;) {
      const Duration step = std::min<Duration>(1s, end - world.loop.now());
      world.advance(step);
      for (auto each = unready_at_.begin(); each != unready_at_.end();) {
        const bool due = world.loop.now() >= each->second;
        if (due) set_ready(each->first, false);
        each = due ? unready_at_.erase(each) : std::next(each);
      }
      on_second();
    }
  }
  std::function<void()> on_second = [] {};

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
  providers::fake::FakeProvider cloud{"isthmus"};
  LyingInstances lies{*cloud.capabilities().instances};
  SeededRandom random{11};
  Metrics metrics;
  MemoryLogger log;
  Diary events;       // Of the lifecycle controller…
  Diary node_events;  // …and of the node controller.
  kube::Store<kube::Node> nodes;
  kube::StoreSink<kube::Node> sink{nodes, node_projection()};
  kube::Watcher watcher{api, kube::Node::resource, sink, world.loop, random, metrics, log};
  cloud::InstanceCache machines{lies, world.loop, metrics};
  cloud::DeletionStop stop;
  FakeHeartbeats heartbeats{world.loop};
  FakeSafety safety;
  Duration leads_for = 1h;
  CloudHealth health;
  NodeController controller{
      {.plan = {.scheme = "isthmus"}}, nodes, api, machines, node_events, world.loop, metrics, log};
  NodeLifecycleController lifecycle;
  kube::Controller runner{
      {.queue = "Nodes"}, {controller, lifecycle}, world.loop, random, metrics, log};
  Scope scope{world.loop};  // Last: what runs in it ends before what it uses.

 private:
  static NodeLifecycleOptions with_scheme(NodeLifecycleOptions options) {
    options.plan.scheme = "isthmus";
    return options;
  }
  NodeLifecycleController::Doors doors() {
    return {.nodes = nodes,
            .api = api,
            .projection = node_projection(),
            .instances = lies,
            .lists = machines,
            .cloud_health = [this] { return health; },
            .stop = stop,
            .heartbeats = heartbeats,
            .safety = safety,
            .leads_for = [this] { return leads_for; },
            .recorder = events,
            .loop = world.loop,
            .metrics = metrics,
            .log = log};
  }

  std::size_t nodes_made_ = 0;
  std::map<std::string, Moment> unready_at_;
};

}  // namespace isthmus::controllers::testing
