// A stage for tests of the service controller: the real watchers, stores and runner around it, an
// API server and a cloud in memory, and time that only passes when told. The manager can be killed
// and started anew; the API server and the cloud stay.
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
#include "isthmus/controllers/diary_testing.h"
#include "isthmus/controllers/service.h"
#include "isthmus/kube/api/namespace.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/kube/watcher.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers::testing {

// What one process of the manager has of its own.
struct ServiceManager {
  ServiceManager(VirtualWorld& world, kube::ApiDoor& api, cloud::Provider& cloud,
                 kube::Recorder& events, Random& random, Logger& log,
                 ServiceControllerOptions options)
      : node_watcher(api, kube::Node::resource, node_sink, world.loop, random, metrics, log),
        service_watcher(api, kube::Service::resource, service_sink, world.loop, random, metrics,
                        log),
        controller(std::move(options),
                   {services, nodes, api, cloud, events, world.loop, random, metrics, log}),
        runner({.queue = "service"}, {controller}, world.loop, random, metrics, log),
        scope(world.loop) {
    runner.follow<kube::Service>(services, service_change_matters);
    scope.spawn(&kube::Watcher::run, &node_watcher);
    scope.spawn(&kube::Watcher::run, &service_watcher);
    scope.spawn(&kube::Controller::run, &runner);
    scope.spawn(&ServiceController::run, &controller, std::ref(runner));
  }

  Metrics metrics;
  kube::Store<kube::Node> nodes;
  kube::Store<kube::Service> services;
  kube::StoreSink<kube::Node> node_sink{nodes};
  kube::StoreSink<kube::Service> service_sink{services, service_projection()};
  kube::Watcher node_watcher;
  kube::Watcher service_watcher;
  ServiceController controller;
  kube::Controller runner;
  Scope scope;  // Last: what runs in it ends before what it uses.
};

class ServiceStory : public ::testing::Test {
 protected:
  static constexpr std::string_view kClusterUid = "6f0c3b1e-0f5a-4c4e-9d55-0a6f2a1f7b11";
  static constexpr std::string_view kPort =
      R"([{"name": "http", "protocol": "TCP", "port": 80, "nodePort": 30080}])";

  ServiceStory() {
    api.put(kube::Namespace::resource,
            fmt::format(R"({{"metadata": {{"name": "kube-system", "uid": "{}"}}}})", kClusterUid));
  }

  void start() {
    manager = std::make_unique<ServiceManager>(world, api, cloud, events, random, log, options);
  }
  void kill() { manager.reset(); }
  void start_with_nodes() {
    add_node("node1", "10.0.0.1");
    add_node("node2", "10.0.0.2");
    start();
    pass(std::chrono::seconds(1));
  }

  void add_node(const std::string& name, const std::string& address, bool ready = true) {
    api.put(kube::Node::resource,
            fmt::format(R"({{"metadata": {{"name": "{}"}}, "spec": {{}}, "status": {{
              "addresses": [{{"type": "InternalIP", "address": "{}"}}],
              "conditions": [{{"type": "Ready", "status": "{}"}}],
              "daemonEndpoints": {{"kubeletEndpoint": {{"Port": 10250}}}}}}}})",
                        name, address, ready ? "True" : "False"));
  }

  // Creates a Service of type LoadBalancer, or replaces it; `more` is further JSON members of spec,
  // `annotations` those of metadata.annotations.
  void put_service(const std::string& name, std::string_view more = "",
                   std::string_view annotations = "") {
    api.put(kube::Service::resource,
            fmt::format(R"({{"metadata": {{"namespace": "default", "name": "{}",
              "annotations": {{{}}}}}, "spec": {{"type": "LoadBalancer", "ports": {},
              "ipFamilies": ["IPv4"], "clusterIPs": ["10.96.0.1"],
              "externalTrafficPolicy": "Cluster", "sessionAffinity": "None"{}}}}})",
                        name, annotations, kPort, more));
  }

  // Another writer: changes the Service as it is now.
  void change(const std::string& name, const std::function<void(json::object&)>& edit) {
    json::value service = api.see(kube::Service::resource, {"default", name});
    edit(service.as_object());
    api.put(kube::Service::resource, compact_json(service));
  }
  void set_spec(const std::string& name, std::string_view key, json::value value) {
    change(name, [&](json::object& service) { service["spec"].as_object()[key] = value; });
  }
  void set_finalizers(const std::string& name, json::array finalizers) {
    change(name, [&](json::object& service) {
      service["metadata"].as_object()["finalizers"] = finalizers;
    });
  }

  // As kubectl does: it goes when its finalizers have gone.
  void delete_service(const std::string& name) {
    const kube::ObjectName object{kube::Service::resource, {"default", name}};
    EXPECT_TRUE(world.run(api.remove({object, {.uid = uid(name)}})));
  }

  bool exists(const std::string& name) const {
    return !api.see(kube::Service::resource, {"default", name}).is_null();
  }
  json::value at(const std::string& name, std::string_view pointer) const {
    const json::value service = api.see(kube::Service::resource, {"default", name});
    boost::system::error_code none;
    const json::value* found = service.find_pointer(pointer, none);
    return found ? *found : json::value(nullptr);
  }
  std::string text(const std::string& name, std::string_view pointer) const {
    const json::value found = at(name, pointer);
    return found.is_string() ? std::string(found.as_string()) : std::string();
  }
  std::string uid(const std::string& name) const { return text(name, "/metadata/uid"); }
  std::string address(const std::string& name) const {
    return text(name, "/status/loadBalancer/ingress/0/ip");
  }
  bool has_finalizer(const std::string& name) const {
    return compact_json(at(name, "/metadata/finalizers")).find(kServiceFinalizer) !=
           std::string::npos;
  }

  cloud::ClusterUid cluster() const { return cloud::ClusterUid::parse(kClusterUid).value(); }
  std::string balancer_name(const std::string& service) const {
    return cloud::owned_name(kBalancerKind, cluster(), uid(service)).value();
  }
  std::string set_name() const { return cloud::cluster_name(kTargetSetKind, cluster()); }
  bool stands(const std::string& service) const {
    return cloud.load_balancers.standing.contains(balancer_name(service));
  }
  providers::fake::FakeBalancer& balancer(const std::string& service) {
    return cloud.load_balancers.standing.at(balancer_name(service));
  }

  unsigned patches() const { return api.calls(kube::testing::Verb::patch, "services"); }
  std::string metrics_text() { return manager->metrics.text(); }
  bool measures(std::string_view line) {
    return metrics_text().find(std::string(line) + "\n") != std::string::npos;
  }

  void pass(Duration time) { world.advance(time); }

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
  providers::fake::FakeProvider cloud{"isthmus"};
  SeededRandom random{11};
  MemoryLogger log;
  Diary events;
  ServiceControllerOptions options;
  std::unique_ptr<ServiceManager> manager;  // Last: it ends before what it uses.
};

}  // namespace isthmus::controllers::testing
