#include "isthmus/controllers/service_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service_plan_testing.h"

namespace isthmus::controllers {
namespace {

using testing::as;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ip;
using ::testing::IsEmpty;
using testing::plan;
using testing::service;

constexpr std::string_view kForeignClass = "example.com/other";

kube::Service of_class(std::optional<std::string> name) {
  kube::Service classed = service();
  classed.load_balancer_class = std::move(name);
  return classed;
}

kube::Service foreign() { return of_class(std::string(kForeignClass)); }

kube::Service without_finalizer(kube::Service service) {
  service.meta.finalizers = {"example.com/keep"};
  return service;
}

kube::Service deleting(kube::Service service) {
  service.meta.deletion_time = WallTime{};
  return service;
}

kube::Service of_type(std::string type) {
  kube::Service other = service();
  other.type = std::move(type);
  return other;
}

kube::Service published(kube::Service service) {
  service.ingress = {{.ip = "192.0.2.1", .ip_mode = "VIP"}};
  return service;
}

ServicePlan plan_with_balancer(const kube::Service& service,
                               const ServicePlanOptions& options = {}) {
  const EligibleNodes nodes = testing::two_nodes();
  ServiceSurroundings surroundings = testing::surroundings(nodes);
  surroundings.has_balancer = true;
  return plan_service(service, options, surroundings);
}

TEST(service_plan, ensures_a_service_of_the_type) {
  const auto act = as<EnsureService>(plan(service()));
  EXPECT_EQ(act.spec.name, testing::balancer_name());
  EXPECT_FALSE(act.add_finalizer);
}

TEST(service_plan, wants_the_finalizer_first) {
  EXPECT_TRUE(as<EnsureService>(plan(without_finalizer(service()))).add_finalizer);
}

// D-S18: classes are a set, and Services without one are a switch.
TEST(service_plan, serves_its_classes_and_those_without_one_if_told_to) {
  as<EnsureService>(plan(of_class("isthmus.dev/lb")));
  as<EnsureService>(plan(of_class("a/b"), {.classes = {"isthmus.dev/lb", "a/b"}}));
  as<EnsureService>(plan(of_class("isthmus.dev/lb"), {.serves_unclassed = false}));
  EXPECT_EQ(as<LeaveService>(plan(service(), {.serves_unclassed = false})).why,
            "Services without a loadBalancerClass are served elsewhere");
  EXPECT_EQ(as<LeaveService>(plan(of_class("isthmus.dev/lb"), {.classes = {}})).why,
            "loadBalancerClass isthmus.dev/lb is served elsewhere");
  as<LeaveService>(plan(of_class("")));
}

// D-S6: the finalizer has upstream's name, so on a Service of another class it is another's.
TEST(service_plan, never_touches_a_service_of_a_foreign_class) {
  for (const kube::Service& one :
       {foreign(), deleting(foreign()), published(foreign()), without_finalizer(foreign()),
        testing::annotated("preserve", "nonsense", foreign())}) {
    const ServicePlan made = plan(one);
    EXPECT_TRUE(as<LeaveService>(made).forget);
    EXPECT_THAT(made.notices, IsEmpty());
  }
}

// D-S6: only a record of our own says that a Service of a class not served any more was ours.
TEST(service_plan, keeps_a_load_balancer_whose_class_is_not_served_any_more_and_says_so) {
  const ServicePlan made = plan_with_balancer(published(foreign()));
  EXPECT_FALSE(as<LeaveService>(made).forget);
  ASSERT_EQ(made.notices.size(), 1U);
  EXPECT_TRUE(made.notices[0].warning);
  EXPECT_EQ(made.notices[0].reason, "LoadBalancerKept");
  EXPECT_EQ(made.notices[0].message,
            "load balancer " + testing::balancer_name() +
                " of this Service is kept, though loadBalancerClass example.com/other is not "
                "served here any more; delete the Service to be rid of it, or have it served here "
                "again");
}

TEST(service_plan, releases_it_with_its_service_and_takes_its_own_finalizer_along) {
  const auto act = as<ReleaseService>(plan_with_balancer(deleting(published(foreign()))));
  EXPECT_EQ(act.name, testing::balancer_name());
  EXPECT_TRUE(act.remove_finalizer);
  EXPECT_FALSE(act.clear_status);
  EXPECT_FALSE(as<ReleaseService>(plan_with_balancer(deleting(without_finalizer(foreign()))))
                   .remove_finalizer);
}

// D-S1: whatever the cloud is believed to have, the release is asked for.
TEST(service_plan, releases_a_service_that_is_being_deleted) {
  for (const ServicePlan& made :
       {plan(deleting(published(service()))), plan_with_balancer(deleting(published(service())))}) {
    const auto act = as<ReleaseService>(made);
    EXPECT_EQ(act.name, testing::balancer_name());
    EXPECT_EQ(act.why, "it is being deleted");
    EXPECT_TRUE(act.clear_status);
    EXPECT_TRUE(act.remove_finalizer);
  }
  EXPECT_FALSE(as<ReleaseService>(plan(deleting(service()))).clear_status);
}

TEST(service_plan, releases_before_it_looks_at_wishes) {
  as<ReleaseService>(plan(deleting(testing::annotated("pool", "?"))));
}

// D-S7: a finalizer cannot be added any more, so nothing can be made.
TEST(service_plan, leaves_a_service_that_is_being_deleted_without_our_finalizer) {
  const auto left = as<LeaveService>(plan(deleting(without_finalizer(service()))));
  EXPECT_EQ(left.why, "it is being deleted, and has nothing of ours");
  EXPECT_TRUE(left.forget);
  const auto act = as<ReleaseService>(plan_with_balancer(deleting(without_finalizer(service()))));
  EXPECT_FALSE(act.remove_finalizer);
}

TEST(service_plan, releases_a_service_whose_type_has_changed) {
  for (const char* type : {"ClusterIP", "NodePort", "ExternalName", ""}) {
    const auto act = as<ReleaseService>(plan(published(of_type(type))));
    EXPECT_EQ(act.why, "its type is not LoadBalancer");
    EXPECT_TRUE(act.clear_status);
    EXPECT_TRUE(act.remove_finalizer);
  }
  const auto act = as<ReleaseService>(plan_with_balancer(without_finalizer(of_type("ClusterIP"))));
  EXPECT_FALSE(act.remove_finalizer);
  EXPECT_FALSE(act.clear_status);
}

TEST(service_plan, leaves_a_service_of_another_type_that_never_had_one) {
  EXPECT_TRUE(as<LeaveService>(plan(without_finalizer(of_type("ClusterIP")))).forget);
  EXPECT_TRUE(as<LeaveService>(plan(published(without_finalizer(of_type("ClusterIP"))))).forget);
}

// A Service of another type shows no class: where somebody else serves those without one, the
// finalizer may be theirs.
TEST(service_plan, leaves_a_finalizer_that_may_be_anothers) {
  const ServicePlanOptions classed_only{.serves_unclassed = false};
  as<LeaveService>(plan(of_type("ClusterIP"), classed_only));
  as<LeaveService>(plan(deleting(of_type("ClusterIP")), classed_only));
  as<ReleaseService>(plan_with_balancer(of_type("ClusterIP"), classed_only));
  as<ReleaseService>(plan(deleting(of_class("isthmus.dev/lb")), classed_only));
}

TEST(service_plan, refuses_the_impossible) {
  const auto refused = as<RefuseService>(plan(testing::annotated("pool", "?")));
  EXPECT_EQ(refused.reason, "InvalidAnnotation");
}

TEST(service_plan, leaves_a_service_that_nothing_can_be_named_after) {
  kube::Service strange = service();
  strange.meta.uid = "web";
  as<LeaveService>(plan(strange));
}

TEST(service_plan, gives_a_recreated_service_a_load_balancer_of_its_own) {
  kube::Service again = service();
  again.meta.uid = "33333333-3333-3333-3333-333333333333";
  EXPECT_NE(as<EnsureService>(plan(again)).spec.name, testing::balancer_name());
}

// D-S14: written as the API server keeps it, so that comparing finds no difference where none is.
TEST(service_status, says_whether_nodes_may_take_the_short_cut) {
  cloud::LoadBalancerState state{.addresses = {ip("192.0.2.1"), ip("2001:db8::1")}};
  EXPECT_THAT(ingress_of(state),
              ElementsAre(kube::LoadBalancerIngress{.ip = "192.0.2.1", .ip_mode = "VIP"},
                          kube::LoadBalancerIngress{.ip = "2001:db8::1", .ip_mode = "VIP"}));
  state.must_be_passed = true;
  EXPECT_EQ(ingress_of(state)[1].ip_mode, "Proxy");
  EXPECT_THAT(ingress_of({}), IsEmpty());
}

TEST(service_status, is_read_for_its_addresses) {
  EXPECT_THAT(addresses_in({{.ip = "192.0.2.1"}, {.hostname = "a.example"}, {.ip = "x"}}),
              ElementsAre(ip("192.0.2.1")));
}

TEST(service_plan, is_described_in_one_line) {
  kube::Service full = testing::annotated("pool", "public", testing::dual_stack_service());
  full = testing::annotated("source-address", "masquerade", without_finalizer(full));
  full.session_affinity = "ClientIP";
  full.load_balancer_source_ranges = {"10.0.0.0/8", "::/0"};
  full.ingress = {{.ip = "192.0.2.1"}};
  EXPECT_EQ(describe(plan(full)),
            "ensure " + testing::balancer_name() +
                ": http TCP/80 to 30080; IPv4 and IPv6 if free at 192.0.2.1 from pool public; "
                "targets of nodes-1; healthy by HTTP 10256/healthz every 5s within 2s, up after 2, "
                "down after 2; clients of 10.0.0.0/8, ::/0; affinity by client address; source "
                "address masqueraded; finalizer");
  EXPECT_EQ(
      describe(plan(deleting(published(service())))),
      "release " + testing::balancer_name() + ": it is being deleted; no status; no finalizer");
  EXPECT_EQ(describe(plan(foreign())),
            "leave alone: loadBalancerClass example.com/other is served elsewhere");
  EXPECT_THAT(describe(plan(testing::annotated("pool", "?"))),
              HasSubstr("refuse: InvalidAnnotation: isthmus.dev/pool: "));
}

TEST(service_plan, names_its_targets_where_they_are_inline) {
  EligibleNodes nodes = testing::two_nodes();
  ServiceSurroundings inline_targets = testing::surroundings(nodes);
  inline_targets.target_set.clear();
  EXPECT_THAT(describe(plan_service(service(), {}, inline_targets)),
              HasSubstr("; targets node1, node2; "));
  nodes.targets.clear();
  EXPECT_THAT(describe(plan_service(service(), {}, inline_targets)), HasSubstr("; no targets; "));
}

}  // namespace
}  // namespace isthmus::controllers
