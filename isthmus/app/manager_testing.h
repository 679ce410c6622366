// A manager in virtual time, for tests: with a cloud of its own, and an API server that several
// share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "isthmus/app/manager.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/api/lease.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::app {

inline const kube::ObjectKey kLease{.name_space = "kube-system",
                                    .name = "cloud-controller-manager"};

// One manager with everything it needs but the API server, which managers share.
struct OneManager {
  OneManager(VirtualWorld& world, kube::testing::FakeApi& api, std::string identity,
             ManagerOptions options = {},
             const std::function<void(providers::fake::FakeProvider&)>& prepare = {},
             kube::ApiDoor* event_api = nullptr)
      : random(std::hash<std::string>{}(identity)), scope(world.loop) {
    auto owned = std::make_unique<providers::fake::FakeProvider>("isthmus");
    provider = owned.get();
    provider->add("m1", "node1", {{cloud::AddressType::internal_ip, "10.0.0.1"}});
    if (prepare) prepare(*provider);
    cloud.emplace(std::move(owned), cloud::GuardLimits{}, gate, world.loop, metrics, log);
    options.election.lease = kLease;
    options.election.identity = identity;
    if (options.migration) options.migration->election.identity = std::move(identity);
    options.node.plan.scheme = "isthmus";
    options.node_lifecycle.plan.scheme = "isthmus";
    options.node.refresh_every = std::chrono::seconds(2);
    manager.emplace(ManagerDoors{world.loop, random, metrics, log, api, api, api,
                                 event_api != nullptr ? *event_api : api, *cloud, gate},
                    std::move(options));
  }

  Outcome check(std::string_view name) {
    for (const HealthCheck& check : manager->checks()) {
      if (check.name == name) return check.run().outcome();
    }
    ADD_FAILURE() << "no check " << name;
    return Outcome::invalid;
  }

  SeededRandom random;
  Metrics metrics;
  MemoryLogger log;
  WriteGate gate{metrics};
  providers::fake::FakeProvider* provider = nullptr;
  std::optional<cloud::Stack> cloud;
  std::optional<Manager> manager;
  Signal stopping;
  std::optional<Result<>> answer;  // Of run(), once it has ended.
  Scope scope;                     // Last: what runs goes before what it runs on.
};

class ManagerFixture : public testing::Test {
 protected:
  ManagerFixture() { api.latency = std::chrono::milliseconds(5); }

  void register_node(const std::string& name) {
    api.put(kube::Node::resource, R"({"metadata": {"name": ")" + name + R"("}, "spec": {"taints": [
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true",
         "effect": "NoSchedule"}]}, "status": {"addresses": [
        {"type": "Hostname", "address": ")" +
                                      name + R"("}]}})");
  }
  bool initialized(const std::string& name) {
    const json::value node = api.see(kube::Node::resource, {.name = name});
    return node.as_object().at("spec").as_object().contains("providerID");
  }
  std::string holder(const kube::ObjectKey& of = kLease) {
    const json::value lease = api.see(kube::Lease::resource, of);
    if (lease.is_null()) return "";
    const json::object& spec = lease.as_object().at("spec").as_object();
    const json::value* holder = spec.if_contains("holderIdentity");
    return holder == nullptr || holder->is_null() ? "" : std::string(holder->as_string());
  }

  // Lets the loop run for this long.
  void pass(Duration time) {
    const Moment until = world.loop.now() + time;
    Result<> slept = world.run(wait_until(until));
    EXPECT_TRUE(slept.has_value());
  }
  static Task<Result<>> wait_until(Moment until) {
    Result<> slept = co_await sleep_until(until);
    co_return slept;
  }

  static void start(OneManager& one) { one.scope.spawn(run, std::ref(one)); }
  static Task<Result<>> run(OneManager& one) {
    Result<> ended = co_await one.manager->run(one.stopping);
    one.answer = ended;
    co_return Result<>{};
  }

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
};

}  // namespace isthmus::app
