#include "isthmus/app/cluster_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/api/patch.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::app {
namespace {

using kube::testing::Verb;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const kube::ObjectKey kLease{"kube-system", "ccm"};
const kube::ObjectKey kWeb{"shop", "web"};
const kube::ObjectKey kNode{"", "n1"};

struct ClusterFactsTest : ::testing::Test {
  ClusterFactsTest() {
    api.put(kube::Namespace::resource, R"({"metadata": {"name": "kube-system",
        "uid": "11111111-1111-1111-1111-111111111111"}})");
    auto fake = std::make_unique<providers::fake::FakeProvider>("isthmus");
    provider = fake.get();
    provider->add("m1", "n1", {{cloud::AddressType::internal_ip, "10.0.0.1"}});
    cloud.emplace(std::move(fake), cloud::GuardLimits{}, gate, world.loop, metrics, log);
    options.node.plan.scheme = "isthmus";
    options.election.lease = kLease;
    renew(seconds(0));
    api.put(kube::Node::resource, R"({"metadata": {"name": "n1"}, "spec": {
        "providerID": "isthmus://m1"}, "status": {"addresses": [
        {"type": "InternalIP", "address": "10.0.0.1"}]}})");
    api.put(kube::Service::resource, R"({"metadata": {"namespace": "shop", "name": "web",
        "uid": "22222222-2222-2222-2222-222222222222"}, "spec": {"type": "LoadBalancer", "ports": [
        {"name": "http", "protocol": "TCP", "port": 80, "nodePort": 30080}],
        "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"]}})");
  }
  void renew(Duration ago) {
    api.put(kube::Lease::resource,
            kube::lease_body(kLease, {.holder = "a_1",
                                      .duration_seconds = 15,
                                      .renew_time = rfc3339_micro(world.loop.wall_now() - ago)}));
  }
  void tell(const std::string& name, const std::string& component, const std::string& last) {
    kube::Event event{.meta = {.key = {"shop", name}},
                      .involved = {.kind = "Service", .key = kWeb},
                      .type = "Warning",
                      .reason = name,
                      .message = "words",
                      .component = component,
                      .last_time = last,
                      .count = 1};
    api.put(kube::Event::resource, kube::event_body(event));
  }
  controllers::ServiceFacts service(cloud::Stack* with) {
    ClusterFacts facts(api, with, options, world.loop);
    return world.run(facts.of_service(kWeb)).value();
  }
  controllers::ServiceFacts service() { return service(&*cloud); }
  controllers::NodeFacts node() {
    ClusterFacts facts(api, &*cloud, options, world.loop);
    return world.run(facts.of_node(kNode)).value();
  }
  void forbid(Verb verb, std::string plural) {
    api.inject({.verb = verb,
                .plural = std::move(plural),
                .error = {Outcome::denied, "forbidden"},
                .times = 100});
  }

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
  Metrics metrics;
  NullLogger log;
  WriteGate gate{metrics};  // Nobody opens it.
  providers::fake::FakeProvider* provider = nullptr;
  std::optional<cloud::Stack> cloud;
  ManagerOptions options;
};

TEST_F(ClusterFactsTest, of_a_service_are_all_found_and_nothing_is_written) {
  const controllers::ServiceFacts facts = service();
  ASSERT_TRUE(facts.service && *facts.service);
  EXPECT_TRUE(facts.is_served_here);
  EXPECT_TRUE(std::holds_alternative<controllers::EnsureService>(facts.plan->what));
  EXPECT_EQ(facts.lease->spec.holder, "a_1");
  EXPECT_EQ(facts.nodes->targets.size(), 1U);
  EXPECT_TRUE(facts.balancer);
  EXPECT_FALSE(*facts.balancer) << "the cloud has none";
  EXPECT_THAT(facts.balancer_name, HasSubstr("svc-"));
  EXPECT_EQ(api.calls(Verb::create) + api.calls(Verb::patch) + api.calls(Verb::remove), 0U);
  EXPECT_EQ(world.elapsed(), seconds(0)) << "the manager is alive at the first look";
}

TEST_F(ClusterFactsTest, of_a_service_have_what_the_cloud_has) {
  ASSERT_TRUE(world.run(provider->load_balancers.ensure(
      {.name = service().balancer_name,
       .listeners = {{.name = "http", .port = 80, .target_port = 30080}}})));
  const controllers::ServiceFacts facts = service();
  ASSERT_TRUE(facts.balancer && *facts.balancer);
  EXPECT_EQ(to_string((*facts.balancer)->addresses.at(0)), "192.0.2.1");
}

TEST_F(ClusterFactsTest, of_what_does_not_exist_are_nothing_more) {
  api.erase(kube::Service::resource, kWeb);
  const controllers::ServiceFacts facts = service();
  EXPECT_TRUE(facts.service);
  EXPECT_FALSE(*facts.service);
  EXPECT_EQ(api.calls(Verb::list), 0U);
}

TEST_F(ClusterFactsTest, are_the_newest_events_of_our_own) {
  tell("Second", "service-controller", "2026-01-01T00:00:02Z");
  tell("First", "service-controller", "2026-01-01T00:00:01Z");
  tell("Theirs", "kubelet", "2026-01-01T00:00:03Z");
  std::vector<std::string> reasons;
  for (const kube::Event& event : service().events) reasons.push_back(event.reason);
  EXPECT_THAT(reasons, ElementsAre("First", "Second"));
}

TEST_F(ClusterFactsTest, a_lease_of_another_clock_is_looked_at_twice) {
  renew(std::chrono::hours(7));
  EXPECT_FALSE(service().lease->moved);
  EXPECT_EQ(world.elapsed(), seconds(3));
  unsigned looks = 0;
  api.on_call = [this, &looks](Verb verb, const kube::ObjectName& name) {
    if (verb == Verb::get && name.resource.plural == "leases") {
      renew(std::chrono::hours(++looks));
    }
  };
  EXPECT_TRUE(service().lease->moved);
  EXPECT_EQ(looks, 2U);
}

TEST_F(ClusterFactsTest, name_each_right_that_is_missing_and_go_on) {
  forbid(Verb::get, "leases");
  forbid(Verb::list, "nodes");
  forbid(Verb::list, "events");
  const controllers::ServiceFacts facts = service();
  EXPECT_EQ(facts.lease.error().message,
            "needs the right to get leases in namespace kube-system: forbidden");
  EXPECT_EQ(facts.nodes.error().message, "needs the right to list nodes: forbidden");
  EXPECT_EQ(facts.no_events->message,
            "needs the right to list events in namespace shop: forbidden");
  EXPECT_TRUE(facts.balancer) << "the cloud says all the same";

  forbid(Verb::get, "namespaces");
  EXPECT_THAT(service().balancer.error().message, HasSubstr("get namespaces (kube-system)"));
  forbid(Verb::get, "services");
  EXPECT_EQ(service().service.error().message,
            "needs the right to get services in namespace shop: forbidden");
}

TEST_F(ClusterFactsTest, show_that_somebody_has_stopped_all_changes) {
  EXPECT_FALSE(service().safety->stops_all) << "there is no ConfigMap";
  const auto say = [this](std::string_view word) {
    api.put(kube::ConfigMap::resource,
            fmt::format(R"({{"metadata": {{"namespace": "kube-system", "name": "isthmus-safety"}},
                            "data": {{"stop-all-mutations": "{}"}}}})",
                        word));
  };
  say("false");
  EXPECT_FALSE(service().safety->stops_all);
  say("true");
  EXPECT_TRUE(service().safety->stops_all);
  EXPECT_TRUE(node().safety->stops_all);
  forbid(Verb::list, "configmaps");
  EXPECT_EQ(service().safety.error().message,
            "needs the right to list configmaps in namespace kube-system: forbidden");
}

TEST_F(ClusterFactsTest, without_a_cloud_that_is_said) {
  EXPECT_EQ(service(nullptr).balancer.error().message, "no cloud was named");
  EXPECT_FALSE(service(nullptr).has_cloud);
  EXPECT_TRUE(service(nullptr).plan);
}

TEST_F(ClusterFactsTest, of_a_node_are_its_machine_its_kubelet_and_who_else_has_it) {
  api.put(kube::Lease::resource,
          kube::lease_body({"kube-node-lease", "n1"}, {.holder = "n1", .renew_time = "t"}));
  api.put(kube::Node::resource, R"({"metadata": {"name": "a-twin"}, "spec": {
      "providerID": "isthmus://m1"}})");
  const controllers::NodeFacts facts = node();
  ASSERT_TRUE(facts.node && *facts.node);
  ASSERT_TRUE(facts.evidence);
  EXPECT_EQ(facts.evidence->machines.size(), 1U);
  EXPECT_EQ((*facts.heartbeat)->spec.renew_time, "t");
  EXPECT_EQ(facts.lease->spec.holder, "a_1");

  provider->faults.error = Error{Outcome::lost, "cut"};
  cloud->instances()->forget();
  EXPECT_EQ(node().evidence.outcome(), Outcome::lost);
}

TEST_F(ClusterFactsTest, of_a_node_nobody_claimed_is_the_machine_that_it_would_be) {
  api.put(kube::Node::resource, R"({"metadata": {"name": "n1"}, "spec": {},
      "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}})");
  const controllers::NodeFacts facts = node();
  ASSERT_TRUE(facts.evidence);
  ASSERT_EQ(facts.evidence->machines.size(), 1U);
  EXPECT_EQ(to_string(facts.evidence->machines[0].provider_id), "isthmus://m1");
  EXPECT_TRUE((*facts.node)->taints.empty()) << "what is shown is the Node itself";
}

TEST_F(ClusterFactsTest, of_a_node_are_known_without_the_right_to_see_all) {
  forbid(Verb::list, "nodes");
  forbid(Verb::get, "leases");
  const controllers::NodeFacts facts = node();
  EXPECT_TRUE(facts.evidence);
  EXPECT_EQ(facts.heartbeat.error().message,
            "needs the right to get leases in namespace kube-node-lease: forbidden");
}

}  // namespace
}  // namespace isthmus::app
