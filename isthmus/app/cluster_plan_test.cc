#include "isthmus/app/cluster_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::app {
namespace {

using controllers::Act;
using controllers::Outlook;
using kube::testing::Verb;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct ClusterPlanTest : ::testing::Test {
  ClusterPlanTest() {
    api.put(kube::Namespace::resource, R"({"metadata": {"name": "kube-system",
        "uid": "11111111-1111-1111-1111-111111111111"}})");
    auto fake = std::make_unique<providers::fake::FakeProvider>("isthmus");
    provider = fake.get();
    provider->add("m1", "n1", {{cloud::AddressType::internal_ip, "10.0.0.1"}});
    cloud.emplace(std::move(fake), cloud::GuardLimits{}, gate, world.loop, metrics, log);
    options.node.plan.scheme = options.route.plan.scheme = "isthmus";
    options.controllers.insert(std::string(kRouteControllerName));
    register_node("n1");
    put_service("web");
  }
  void register_node(const std::string& name) {
    api.put(kube::Node::resource, R"({"metadata": {"name": ")" + name +
                                      R"("}, "spec": {"podCIDRs": ["10.244.1.0/24"],
        "taints": [{"key": "node.cloudprovider.kubernetes.io/uninitialized",
                    "effect": "NoSchedule"}]}})");
  }
  void put_service(const std::string& name, std::string_view type = "LoadBalancer") {
    api.put(kube::Service::resource, R"({"metadata": {"namespace": "shop", "name": ")" + name +
                                         R"("}, "spec": {"type": ")" + std::string(type) +
                                         R"(", "ports": [
        {"name": "http", "protocol": "TCP", "port": 80, "nodePort": 30080}],
        "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"]}})");
  }
  Result<std::vector<Outlook>> make(PlanWish wish = {}) {
    ClusterPlan plan(api, *cloud, options);
    return world.run(plan.make(std::move(wish)));
  }
  // "node/n1 initialize".
  std::vector<std::string> lines(PlanWish wish = {}) {
    std::vector<std::string> found;
    for (const Outlook& each : make(std::move(wish)).value()) {
      found.push_back(name_of(each) + " " + std::string(to_string(each.act)));
    }
    return found;
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

const std::string kSet =
    cloud::cluster_name("nodes", *cloud::ClusterUid::parse("11111111-1111-1111-1111-111111111111"));

TEST_F(ClusterPlanTest, goes_through_everything_and_writes_nothing) {
  options.route.plan.cluster_cidrs = {*parse_prefix("10.244.0.0/16")};
  put_service("inner", "ClusterIP");
  EXPECT_THAT(lines(), ElementsAre("node/n1 initialize", "service/shop/web create",
                                   "targetset/" + kSet + " create"))
      << "a Node that is no member yet has no route, nor is it a target";
  EXPECT_EQ(api.calls(Verb::create) + api.calls(Verb::patch) + api.calls(Verb::remove), 0U);
  EXPECT_EQ(provider->load_balancers.ensures + provider->target_sets.ensures, 0U);

  api.put(kube::Node::resource, R"({"metadata": {"name": "n1"}, "spec": {
      "providerID": "isthmus://m1", "podCIDRs": ["10.244.1.0/24"]}})");
  EXPECT_THAT(lines({.kind = "route"}), ElementsAre("route/10.244.1.0/24 create"));
}

TEST_F(ClusterPlanTest, shows_what_was_asked_for) {
  register_node("n2");
  EXPECT_THAT(lines({.kind = "node"}), ElementsAre("node/n1 initialize", "node/n2 refuse"));
  EXPECT_THAT(lines({.kind = "node", .name = {"", "n2"}}), ElementsAre("node/n2 refuse"));
  EXPECT_THAT(lines({.kind = "service", .name = {"shop", "web"}}),
              ElementsAre("service/shop/web create"));
  put_service("inner", "ClusterIP");
  EXPECT_THAT(lines({.kind = "service", .name = {"shop", "inner"}}),
              ElementsAre("service/shop/inner none"));
}

TEST_F(ClusterPlanTest, of_what_does_not_exist_is_an_error) {
  EXPECT_EQ(make({.kind = "node", .name = {"", "n9"}}).error(),
            (Error{Outcome::absent, "there is no node n9"}));
  EXPECT_EQ(make({.kind = "service", .name = {"shop", "x"}}).error(),
            (Error{Outcome::absent, "there is no service shop/x"}));
}

TEST_F(ClusterPlanTest, leaves_out_what_is_switched_off) {
  options.controllers = {std::string(kServiceControllerName)};
  EXPECT_THAT(lines({.kind = "node"}), IsEmpty());
  options.controllers = {std::string(kNodeControllerName)};
  EXPECT_THAT(lines(), ElementsAre("node/n1 initialize"));
}

TEST_F(ClusterPlanTest, says_for_each_that_the_cloud_does_not_answer) {
  options.route.plan.cluster_cidrs = {*parse_prefix("10.244.0.0/16")};
  provider->faults.error = Error{Outcome::lost, "cut"};
  EXPECT_THAT(lines(),
              ElementsAre("node/n1 unknown", "service/shop/web unknown", "route/all unknown"));
}

TEST_F(ClusterPlanTest, says_why_for_each_also_once_the_cloud_is_left_alone) {
  options.route.plan.cluster_cidrs = {*parse_prefix("10.244.0.0/16")};
  for (unsigned i = 2; i <= cloud::BreakerLimits{}.lost_to_open + 1; ++i) {
    register_node("n" + std::to_string(i));
  }
  put_service("api");
  provider->faults.error = Error{Outcome::lost, "nobody answers"};
  const std::vector<Outlook> outlooks = make().value();
  EXPECT_EQ(cloud->guard().breaker_state(), cloud::Breaker::State::open);
  EXPECT_EQ(outlooks.size(), cloud::BreakerLimits{}.lost_to_open + 4);
  for (const Outlook& each : outlooks) {
    EXPECT_EQ(each.reason, "CloudNotAsked") << name_of(each);
    EXPECT_THAT(each.message, HasSubstr("the cloud cannot be asked")) << name_of(each);
    EXPECT_THAT(each.message, HasSubstr(": lost: nobody answers")) << name_of(each);
  }
}

TEST_F(ClusterPlanTest, of_a_cloud_that_limits_us_says_that) {
  provider->faults.calls_until_limit = 0;
  for (const Outlook& each : make().value()) {
    EXPECT_THAT(each.message, HasSubstr(": busy: ")) << name_of(each);
  }
}

TEST_F(ClusterPlanTest, what_was_lost_explains_nothing_after_an_answer) {
  register_node("n2");
  provider->faults.error = Error{Outcome::lost, "nobody answers"};
  provider->faults.errors = 1;
  provider->faults.calls_until_limit = 2;
  const std::vector<Outlook> outlooks = make().value();
  ASSERT_EQ(outlooks.size(), 3U);
  EXPECT_THAT(outlooks[0].message, HasSubstr(": lost: nobody answers"));
  EXPECT_EQ(outlooks[1].act, Act::refuse);
  EXPECT_THAT(outlooks[2].message, HasSubstr(": busy: slow down"));
}

TEST_F(ClusterPlanTest, says_what_both_controllers_of_nodes_would_do) {
  options.controllers.insert(std::string(kNodeLifecycleControllerName));
  options.node_lifecycle.plan.scheme = "isthmus";
  provider->machines[0].power = cloud::Power::stopped;
  api.put(kube::Node::resource, R"({"metadata": {"name": "n1"}, "spec": {
      "providerID": "isthmus://m1"}, "status": {
      "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
      "conditions": [{"type": "Ready", "status": "Unknown"}]}})");
  EXPECT_THAT(lines({.kind = "node"}), ElementsAre("node/n1 none", "node/n1 taint"));
  provider->machines.clear();
  cloud->instances()->forget();
  EXPECT_THAT(lines({.kind = "node"}), ElementsAre("node/n1 refuse", "node/n1 withhold"));
}

TEST_F(ClusterPlanTest, says_first_that_all_changes_are_stopped) {
  api.put(kube::ConfigMap::resource, R"({"metadata": {"namespace": "kube-system",
      "name": "isthmus-safety"}, "data": {"stop-all-mutations": "true"}})");
  const std::string stopped = "configmap/kube-system/isthmus-safety withhold";
  EXPECT_THAT(lines({.kind = "node"}), ElementsAre(stopped, "node/n1 initialize"));
  EXPECT_THAT(lines({.kind = "node", .name = {"", "n1"}}),
              ElementsAre(stopped, "node/n1 initialize"));
  api.put(kube::ConfigMap::resource, R"({"metadata": {"namespace": "kube-system",
      "name": "isthmus-safety"}, "data": {"stop-all-mutations": false}})");
  EXPECT_THAT(lines({.kind = "node"}), ElementsAre(stopped, "node/n1 initialize"))
      << "it cannot be read";
  api.inject({.verb = Verb::list, .plural = "configmaps", .error = {Outcome::denied, "no"}});
  EXPECT_THAT(lines({.kind = "node"}), ElementsAre("node/n1 initialize"));
}

TEST_F(ClusterPlanTest, names_the_right_that_is_missing) {
  for (const char* plural : {"nodes", "services"}) {
    api.inject({.verb = Verb::list, .plural = plural, .error = {Outcome::denied, "forbidden"}});
    const auto plan = make();
    EXPECT_EQ(plan.outcome(), Outcome::denied);
    EXPECT_THAT(plan.error().message, HasSubstr(std::string("needs the right to list ") + plural));
  }
  api.inject({.verb = Verb::get, .error = {Outcome::denied, "forbidden"}});
  EXPECT_THAT(make().error().message, HasSubstr("get namespaces kube-system"));
}

TEST_F(ClusterPlanTest, an_object_that_cannot_be_read_is_unknown) {
  api.put(kube::Node::resource, R"({"metadata": {"name": "odd"}, "spec": {"taints": 7}})");
  EXPECT_THAT(lines({.kind = "node"}), ElementsAre("node/odd unknown", "node/n1 initialize"));
  EXPECT_THAT(lines({.kind = "service", .name = {"shop", "web"}}),
              ElementsAre("service/shop/web create"));
}

}  // namespace
}  // namespace isthmus::app
