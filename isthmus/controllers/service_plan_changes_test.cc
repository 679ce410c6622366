// Which differences of a Service reach the controller, held against what a plan is made from; and
// what holds for the plan of any Service at all.
#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "isthmus/controllers/service_plan_testing.h"

namespace isthmus::controllers {
namespace {

using testing::service;

using Change = std::function<void(kube::Service& service)>;

bool matters(std::optional<kube::Service> before, std::optional<kube::Service> after) {
  kube::Difference<kube::Service> difference;
  if (before) difference.before = std::make_shared<const kube::Service>(*std::move(before));
  if (after) difference.after = std::make_shared<const kube::Service>(*std::move(after));
  return service_change_matters(difference);
}

bool matters(const Change& change) {
  kube::Service after = service();
  change(after);
  return matters(service(), after);
}

kube::Service cluster_ip() {
  kube::Service other = service();
  other.type = "ClusterIP";
  other.meta.finalizers.clear();
  return other;
}

// One of each kind that the API knows.
const std::vector<Change> kChanges{
    [](auto& s) { s.type = "NodePort"; },
    [](auto& s) { s.load_balancer_class = "example.com/other"; },
    [](auto& s) { s.load_balancer_ip = "192.0.2.1"; },
    [](auto& s) { s.load_balancer_source_ranges = {"10.0.0.0/8"}; },
    [](auto& s) { s.ports[0].name = "web"; },
    [](auto& s) { s.ports[0].protocol = "UDP"; },
    [](auto& s) { s.ports[0].port = 81; },
    [](auto& s) { s.ports[0].node_port = 30081; },
    [](auto& s) { s.ports[0].node_port = 0; },
    [](auto& s) { s.ports.push_back({.name = "b", .port = 81, .node_port = 30081}); },
    [](auto& s) { s.ip_families = {"IPv4", "IPv6"}; },
    [](auto& s) { s.external_traffic_policy = "Local"; },
    [](auto& s) { s.health_check_node_port = 31000; },
    [](auto& s) { s.session_affinity = "ClientIP"; },
    [](auto& s) { s.allocate_node_ports = false; },
    [](auto& s) { s.meta.annotations.set("isthmus.dev/pool", "public"); },
    [](auto& s) { s.meta.annotations.set("isthmus.dev/nonsense", ""); },
    [](auto& s) { s.meta.annotations.set(kSourceRangesAnnotation, "10.0.0.0/8"); },
    [](auto& s) { s.meta.finalizers.clear(); },
    [](auto& s) { s.meta.deletion_time = WallTime{}; },
    [](auto& s) { s.meta.uid = "33333333-3333-3333-3333-333333333333"; },
    [](auto& s) { s.ingress = {{.ip = "192.0.2.1"}}; },
    [](auto& s) { s.meta.labels.set("a", "b"); },
    [](auto& s) { s.meta.annotations.set("a", "b"); },
    [](auto& s) { s.meta.finalizers.push_back("example.com/keep"); },
    [](auto& s) { s.meta.resource_version = "8"; },
    [](auto& s) { s.meta.generation = 8; },
    [](auto& s) { s.ports[0].target_port = "8080"; },
    [](auto& s) { s.ports[0].app_protocol = "http"; },
    [](auto& s) { s.external_ips = {"192.0.2.9"}; },
    [](auto& s) { s.internal_traffic_policy = "Local"; },
    [](auto& s) { s.ip_family_policy = "PreferDualStack"; },
    [](auto& s) { s.session_affinity_seconds = 60; },
    [](auto& s) { s.publish_not_ready_addresses = true; },
};
constexpr std::size_t kThoseThatMatter = 22;  // The first ones.

// D-S17, D-S20.
TEST(service_change, matters_where_it_is_about_the_load_balancer_and_only_there) {
  for (std::size_t i = 0; i < kChanges.size(); ++i) {
    EXPECT_EQ(matters(kChanges[i]), i < kThoseThatMatter) << "change " << i;
  }
}

// D-S2: a status that somebody cleared is put right.
TEST(service_change, of_the_status_matters) {
  kube::Service published = service();
  published.ingress = {{.ip = "192.0.2.1", .ip_mode = "VIP"}};
  EXPECT_TRUE(matters(published, service()));
  kube::Service otherwise = published;
  otherwise.ingress[0].ip_mode = "Proxy";
  EXPECT_TRUE(matters(published, otherwise));
  EXPECT_FALSE(matters(published, published));
}

// D-S10: a Service that is gone is looked at, whatever its finalizers were.
TEST(service_change, matters_where_one_comes_or_goes) {
  EXPECT_TRUE(matters({}, service()));
  EXPECT_TRUE(matters(service(), {}));
  kube::Service unfinished = service();
  unfinished.meta.finalizers.clear();
  EXPECT_TRUE(matters(unfinished, {}));
}

TEST(service_change, does_not_matter_where_it_never_had_to_do_with_load_balancers) {
  EXPECT_FALSE(matters({}, cluster_ip()));
  EXPECT_FALSE(matters(cluster_ip(), {}));
  kube::Service other = cluster_ip();
  other.ports[0].port = 81;
  other.meta.uid = "33333333-3333-3333-3333-333333333333";
  EXPECT_FALSE(matters(cluster_ip(), other));
  EXPECT_TRUE(matters(cluster_ip(), service()));
  EXPECT_TRUE(matters(service(), cluster_ip()));
  kube::Service cleaned_up_later = cluster_ip();
  cleaned_up_later.meta.finalizers = {std::string(kServiceFinalizer)};
  EXPECT_TRUE(matters({}, cleaned_up_later));
}

TEST(service_change, of_our_own_finalizer_matters_unless_it_appears_where_we_put_it) {
  kube::Service without = service();
  without.meta.finalizers.clear();
  EXPECT_FALSE(matters(without, service()));
  EXPECT_TRUE(matters(service(), without));
  kube::Service of_another_type = cluster_ip();
  of_another_type.meta.finalizers = {std::string(kServiceFinalizer)};
  EXPECT_TRUE(matters(cluster_ip(), of_another_type));
  EXPECT_TRUE(matters(of_another_type, cluster_ip()));
}

// Any Service, from no change to many at once.
kube::Service any_service() {
  kube::Service made = service();
  for (const int number : *rc::gen::container<std::vector<int>>(
           rc::gen::inRange<int>(0, static_cast<int>(kChanges.size())))) {
    kChanges[static_cast<std::size_t>(number)](made);
  }
  return made;
}

// All that is done and told; nothing is nothing, for whatever reason.
std::string all_of(const ServicePlan& plan) {
  const bool is_left = std::holds_alternative<LeaveService>(plan.what);
  std::string text = is_left ? "leave alone" : describe(plan);
  for (const Notice& notice : plan.notices) text += "\n" + notice.reason + ": " + notice.message;
  return text;
}

TEST(service_change, that_does_not_matter_changes_no_plan) {
  EXPECT_TRUE(rc::check([] {
    const kube::Service before = any_service();
    kube::Service after = before;
    kChanges[static_cast<std::size_t>(
        *rc::gen::inRange<int>(0, static_cast<int>(kChanges.size())))](after);
    if (matters(before, after)) return;
    RC_ASSERT(all_of(testing::plan(before)) == all_of(testing::plan(after)));
  }));
}

// D-S6.
TEST(service_plans, of_foreign_classes_are_to_leave_them_alone) {
  EXPECT_TRUE(rc::check([] {
    kube::Service foreign = any_service();
    foreign.type = "LoadBalancer";
    foreign.load_balancer_class = "example.com/other";
    const ServicePlan plan = testing::plan(foreign);
    RC_ASSERT(std::holds_alternative<LeaveService>(plan.what));
    RC_ASSERT(plan.notices.empty());
  }));
}

TEST(service_plans, of_services_that_are_leaving_make_nothing) {
  EXPECT_TRUE(rc::check([] {
    kube::Service leaving = any_service();
    leaving.meta.deletion_time = WallTime{};
    RC_ASSERT(!std::holds_alternative<EnsureService>(testing::plan(leaving).what));
  }));
}

TEST(service_plans, write_the_finalizer_only_where_that_changes_something) {
  EXPECT_TRUE(rc::check([] {
    const kube::Service any = any_service();
    const bool has_it = any.meta.has_finalizer(kServiceFinalizer);
    const ServicePlan plan = testing::plan(any);
    if (const auto* act = std::get_if<EnsureService>(&plan.what)) {
      RC_ASSERT(act->add_finalizer != has_it);
      RC_ASSERT(!act->spec.listeners.empty());
      RC_ASSERT(!act->spec.families.empty());
    }
    if (const auto* act = std::get_if<ReleaseService>(&plan.what)) {
      RC_ASSERT(act->remove_finalizer == has_it);
    }
    if (const auto* act = std::get_if<RefuseService>(&plan.what)) {
      RC_ASSERT(!act->reason.empty() && !act->message.empty());
    }
  }));
}

}  // namespace
}  // namespace isthmus::controllers
