// A stage for tests of the node controller: the real watcher, store, runner and cache around it, an
// API server and a cloud in memory, and time that only passes when told.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "isthmus/base/json.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/cloud/cache.h"
#include "isthmus/controllers/diary_testing.h"
#include "isthmus/controllers/node.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/kube/watcher.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers::testing {

class NodeStory : public ::testing::Test {
 protected:
  static constexpr std::string_view kTaint = R"({"key": "other", "effect": "NoExecute"},
      {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true",
       "effect": "NoSchedule"})";

  // Starts everything; before it, nothing runs.
  void start() {
    scope.spawn(&kube::Watcher::run, &watcher);
    scope.spawn(&kube::Controller::run, &runner);
    runner.follow<kube::Node>(nodes, node_change_matters);
  }

  // A Node as a kubelet registers it; `more` is further JSON members of spec.
  void register_node(const std::string& name, std::string_view taints = kTaint,
                     std::string_view more = "") {
    const std::string spec = "{\"taints\": [" + std::string(taints) + "]" + std::string(more) + "}";
    const json::value node{
        {"metadata", {{"name", name}, {"labels", {{"kubernetes.io/os", "linux"}}}}},
        {"spec", parse_json(spec).value()},
        {"status", {{"addresses", json::array{{{"type", "Hostname"}, {"address", name}}}}}}};
    api.put(kube::Node::resource, compact_json(node));
  }
  // The id is a number, and that of its address.
  void add_machine(const std::string& id, const std::string& name) {
    const int number = std::stoi(id);
    const std::string address =
        "10.0." + std::to_string(number / 256) + "." + std::to_string(number % 256);
    cloud.add(id, name, {{cloud::AddressType::internal_ip, address}}).zone = "rack-7";
  }

  // Another writer: changes the Node as it is now.
  void change(const std::string& name, const std::function<void(json::value&)>& edit) {
    json::value node = api.see(kube::Node::resource, {"", name});
    edit(node);
    api.put(kube::Node::resource, compact_json(node));
  }
  json::value at(const std::string& name, std::string_view pointer) const {
    const json::value node = api.see(kube::Node::resource, {"", name});
    boost::system::error_code none;
    const json::value* found = node.find_pointer(pointer, none);
    return found ? *found : json::value(nullptr);
  }
  bool tainted(const std::string& name) const {
    return compact_json(at(name, "/spec")).find("uninitialized") != std::string::npos;
  }
  unsigned patches() const { return api.calls(kube::testing::Verb::patch); }

  void pass(Duration time) { world.advance(time); }

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
  providers::fake::FakeProvider cloud{"isthmus"};
  SeededRandom random{11};
  Metrics metrics;
  MemoryLogger log;
  Diary events;
  kube::Store<kube::Node> nodes;
  kube::StoreSink<kube::Node> sink{nodes};
  kube::Watcher watcher{api, kube::Node::resource, sink, world.loop, random, metrics, log};
  cloud::InstanceCache machines{*cloud.capabilities().instances, world.loop, metrics};
  NodeController controller{
      {.plan = {.scheme = "isthmus"}}, nodes, api, machines, events, world.loop, metrics, log};
  kube::Controller runner{{.queue = "Nodes"}, {controller}, world.loop, random, metrics, log};
  Scope scope{world.loop};  // Last: what runs in it ends before what it uses.
};

}  // namespace isthmus::controllers::testing
