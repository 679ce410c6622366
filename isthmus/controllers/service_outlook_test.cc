#include "isthmus/controllers/service_outlook.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/controllers/node_targets.h"
#include "isthmus/controllers/service_plan_testing.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct service_outlook : ::testing::Test {
  void has(std::vector<kube::Service> all) {
    std::vector<kube::Decoded<kube::Service>> decoded;
    for (kube::Service& each : all) {
      decoded.push_back({each.meta.key, each.meta.uid, each.meta.resource_version, each});
    }
    services.replace(std::move(decoded));
  }
  // The cloud has what the manager makes of the Service.
  void make(const kube::Service& service) {
    const ServicePlan made = plan_service(
        service, {},
        {.cluster = testing::kCluster,
         .nodes = nodes,
         .target_set =
             cloud.has_target_sets ? target_set_of(testing::kCluster, nodes).name : std::string()});
    if (cloud.has_target_sets) {
      ASSERT_TRUE(world.run(cloud.target_sets.ensure(target_set_of(testing::kCluster, nodes))));
    }
    ASSERT_TRUE(world.run(cloud.load_balancers.ensure(std::get<EnsureService>(made.what).spec)));
  }
  Outlook of(const kube::Service& service) {
    has({service});
    ServiceOutlook outlook(options, services, nodes, testing::kCluster, cloud);
    learned = world.run(outlook.learn());
    targets = outlook.of_targets();
    return world.run(outlook.of(std::make_shared<const kube::Service>(service))).value();
  }
  std::vector<Outlook> orphans() {
    ServiceOutlook outlook(options, services, nodes, testing::kCluster, cloud);
    EXPECT_TRUE(world.run(outlook.learn()));
    return outlook.of_orphans();
  }
  std::size_t writes() const {
    return cloud.load_balancers.ensures + cloud.load_balancers.releases +
           cloud.target_sets.ensures + cloud.target_sets.releases;
  }

  VirtualWorld world;
  providers::fake::FakeProvider cloud;
  kube::Store<kube::Service> services;
  EligibleNodes nodes = testing::two_nodes();
  ServiceControllerOptions options;
  Result<> learned;
  std::optional<Outlook> targets;
};

TEST_F(service_outlook, a_new_one_gets_a_load_balancer_and_the_set_that_it_sends_to) {
  kube::Service fresh = testing::service();
  fresh.meta.finalizers.clear();
  const Outlook created = of(fresh);
  EXPECT_EQ(created.act, Act::create);
  EXPECT_EQ(created.message, "ensure " + testing::balancer_name() + ": http TCP/80 to 30080");
  EXPECT_THAT(created.details,
              ElementsAre("address 192.0.2.1, if nobody else is given it before", "IPv4",
                          "targets of " + target_set_of(testing::kCluster, nodes).name,
                          HasSubstr("healthy by HTTP 10256"), "finalizer"));
  ASSERT_TRUE(targets);
  EXPECT_EQ(targets->act, Act::create);
  EXPECT_EQ(targets->message, "2 Nodes are eligible");
  EXPECT_EQ(writes(), 0U);
}

TEST_F(service_outlook, one_that_stands_and_says_so_is_left) {
  kube::Service standing = testing::service();
  make(standing);
  standing.ingress = {{.ip = "192.0.2.1", .ip_mode = "VIP"}};
  EXPECT_EQ(of(standing), (Outlook{.kind = "Service",
                                   .key = {"shop", "web"},
                                   .message = "load balancer " + testing::balancer_name() +
                                              " at 192.0.2.1 is as it should be"}));
  EXPECT_EQ(targets->act, Act::none);
}

TEST_F(service_outlook, one_that_does_not_say_so_is_written) {
  kube::Service silent = testing::service();
  make(silent);
  silent.meta.finalizers.clear();
  const Outlook publish = of(silent);
  EXPECT_EQ(publish.act, Act::publish);
  EXPECT_THAT(publish.details, ElementsAre("finalizer service.kubernetes.io/load-balancer-cleanup",
                                           "status 192.0.2.1"));
}

TEST_F(service_outlook, one_that_the_cloud_works_on_is_waited_for_with_what_the_cloud_says) {
  make(testing::service());
  auto& balancer = cloud.load_balancers.standing.begin()->second;
  balancer.settled = false;
  balancer.settles_at = Moment::max();
  balancer.facts = {{"AddressInUse", "02:00:00:00:00:01 answers for 192.0.2.1"}};
  const Outlook wait = of(testing::service());
  EXPECT_EQ(wait.act, Act::wait);
  EXPECT_EQ(wait.reason, "AddressInUse");
  EXPECT_THAT(wait.details, ElementsAre("02:00:00:00:00:01 answers for 192.0.2.1"));
}

TEST_F(service_outlook, one_that_asks_for_something_else_is_changed) {
  make(testing::service());
  kube::Service other = testing::service();
  other.ports[0].port = 81;
  const Outlook update = of(other);
  EXPECT_EQ(update.act, Act::update);
  EXPECT_EQ(update.message, "change " + testing::balancer_name());
  EXPECT_THAT(update.details, ElementsAre("address 192.0.2.1", HasSubstr("listeners: ")));
}

TEST_F(service_outlook, a_mistake_is_refused_in_the_words_of_its_event) {
  const Outlook refused = of(testing::annotated("health-check-interval", "soon"));
  EXPECT_EQ(refused.act, Act::refuse);
  EXPECT_EQ(refused.reason, "InvalidAnnotation");
  EXPECT_THAT(refused.message, HasSubstr("health-check-interval"));
}

TEST_F(service_outlook, what_the_cloud_would_refuse_is_refused) {
  kube::Service greedy = testing::annotated("addresses", "203.0.113.9");
  const Outlook refused = of(greedy);
  EXPECT_EQ(refused.act, Act::refuse);
  EXPECT_EQ(refused.reason, "SyncLoadBalancerFailed");
  EXPECT_THAT(refused.message, HasSubstr("203.0.113.9"));
}

TEST_F(service_outlook, names_the_service_that_has_what_is_wanted) {
  kube::Service first = testing::service();
  make(first);
  kube::Service second = testing::annotated("addresses", "192.0.2.1");
  second.meta.key = {"shop", "second"};
  second.meta.uid = "33333333-3333-3333-3333-333333333333";
  has({first, second});
  ServiceOutlook outlook(options, services, nodes, testing::kCluster, cloud);
  ASSERT_TRUE(world.run(outlook.learn()));
  const auto greedy = std::make_shared<const kube::Service>(second);
  const Outlook refused = world.run(outlook.of(greedy)).value();
  EXPECT_EQ(refused.act, Act::refuse);
  EXPECT_THAT(refused.message, HasSubstr(testing::balancer_name() + " (Service shop/web)"));
}

TEST_F(service_outlook, is_unknown_while_the_cloud_does_not_say) {
  has({testing::service()});
  ServiceOutlook outlook(options, services, nodes, testing::kCluster, cloud);
  ASSERT_TRUE(world.run(outlook.learn()));
  cloud.faults.error = Error{Outcome::lost, "cut"};
  const auto service = std::make_shared<const kube::Service>(testing::service());
  const Outlook unknown = world.run(outlook.of(service)).value();
  EXPECT_EQ(unknown.act, Act::unknown);
  EXPECT_EQ(unknown.message, "the cloud cannot be asked: lost: cut");
  ServiceOutlook blind(options, services, nodes, testing::kCluster, cloud);
  EXPECT_EQ(world.run(blind.learn()).outcome(), Outcome::lost);
}

TEST_F(service_outlook, one_that_is_leaving_gives_its_load_balancer_back) {
  make(testing::service());
  kube::Service leaving = testing::service();
  leaving.meta.deletion_time = WallTime(std::chrono::seconds(1));
  leaving.ingress = {{.ip = "192.0.2.1", .ip_mode = "VIP"}};
  const Outlook release = of(leaving);
  EXPECT_EQ(release.act, Act::release);
  EXPECT_EQ(release.message, "it is being deleted");
  EXPECT_THAT(release.details,
              ElementsAre("load balancer " + testing::balancer_name() + " at 192.0.2.1",
                          "no status", "no finalizer service.kubernetes.io/load-balancer-cleanup"));
  EXPECT_FALSE(targets) << "nobody needs the set";
}

TEST_F(service_outlook, one_without_anything_in_the_cloud_only_loses_its_finalizer) {
  kube::Service leaving = testing::service();
  leaving.meta.deletion_time = WallTime(std::chrono::seconds(1));
  EXPECT_EQ(of(leaving).act, Act::publish);
}

TEST_F(service_outlook, one_of_another_class_is_none_of_our_business) {
  kube::Service other = testing::service();
  other.load_balancer_class = "example.com/lb";
  const Outlook left = of(other);
  EXPECT_EQ(left.act, Act::none);
  EXPECT_EQ(left.message, "loadBalancerClass example.com/lb is served elsewhere");
}

TEST_F(service_outlook, without_eligible_nodes_that_is_said_with_why_each_is_not) {
  nodes = {.left_out = {{"n1", "is being deleted"}}};
  const Outlook created = of(testing::service());
  EXPECT_EQ(created.reason, "UnAvailableLoadBalancer");
  EXPECT_THAT(created.details, Contains("There are no available nodes for LoadBalancer"));
  EXPECT_THAT(targets->details, Contains("not node n1: it is being deleted"));
}

TEST_F(service_outlook, a_cloud_without_sets_is_told_the_targets_inline) {
  cloud.has_target_sets = false;
  EXPECT_THAT(of(testing::service()).details, Contains("targets node1, node2"));
  EXPECT_FALSE(targets);
  cloud.has_target_sets = true;
  cloud.target_sets.supported = false;
  EXPECT_THAT(of(testing::service()).details, Contains("targets node1, node2"));
}

TEST_F(service_outlook, load_balancers_without_a_service_go_but_not_too_many_at_once) {
  make(testing::service());
  EXPECT_THAT(orphans(), ElementsAre(Outlook{.kind = "LoadBalancer",
                                             .key = {"", testing::balancer_name()},
                                             .act = Act::release,
                                             .reason = "Orphan",
                                             .message = "its Service is gone; it is kept for "
                                                        "10m0s first",
                                             .details = {"at 192.0.2.1"}}));
  options.orphans_max = 0;
  const std::vector<Outlook> many = orphans();
  ASSERT_EQ(many.size(), 1U);
  EXPECT_EQ(many[0].act, Act::withhold);
  EXPECT_THAT(many[0].message, HasSubstr("1 of 1 load balancers"));
  has({testing::service()});
  EXPECT_THAT(orphans(), IsEmpty());
}

TEST_F(service_outlook, nodes_are_checked_by_what_the_manager_has_found_out) {
  kube::Service standing = testing::service();
  make(standing);
  auto& labels = cloud.load_balancers.standing.begin()->second.spec.labels;
  labels[std::string(kNodeHealthLabel)] = "kubelet";
  has({standing});
  ServiceOutlook outlook(options, services, nodes, testing::kCluster, cloud);
  ASSERT_TRUE(world.run(outlook.learn()));
  const ServicePlan plan = outlook.plan(standing);
  EXPECT_EQ(std::get<EnsureService>(plan.what).checked_by, NodeHealth::kubelet);
}

}  // namespace
}  // namespace isthmus::controllers
