#include "isthmus/controllers/service_explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service_plan_testing.h"

namespace isthmus::controllers {
namespace {

using ::testing::HasSubstr;
using State = Link::State;
using Health = cloud::LoadBalancerState::Health;

// Everything is well; each test breaks one link.
ServiceFacts well() {
  kube::Service service = testing::service();
  service.ingress = {{.ip = "192.0.2.1", .ip_mode = "VIP"}};
  const WallTime now = *kube::parse_rfc3339("2026-01-01T00:01:00Z");
  return {
      .key = service.meta.key,
      .service = std::optional(service),
      .plan = testing::plan(service),
      .lease = LeaseFacts{.key = {"kube-system", "ccm"},
                          .exists = true,
                          .spec = {.holder = "a_1",
                                   .duration_seconds = 15,
                                   .renew_time = "2026-01-01T00:00:59Z"},
                          .looked_at = now},
      .nodes = testing::two_nodes(),
      .balancer_name = testing::balancer_name(),
      .balancer = std::optional(cloud::LoadBalancerState{.name = testing::balancer_name(),
                                                         .addresses = {testing::ip("192.0.2.1")},
                                                         .settled = true,
                                                         .generation = 3,
                                                         .health = Health::all,
                                                         .targets = 2})};
}

kube::Service& service_of(ServiceFacts& facts) { return **facts.service; }
cloud::LoadBalancerState& state_of(ServiceFacts& facts) { return **facts.balancer; }

// The broken link; one without a name when none is.
Link broken(const ServiceFacts& facts) {
  const Explanation explanation = explain(facts);
  return is_broken(explanation) ? explanation.links.back() : Link{};
}

std::vector<std::string> names(const Explanation& explanation) {
  std::vector<std::string> all;
  for (const Link& link : explanation.links) all.push_back(link.name);
  return all;
}

TEST(service_explanation, of_one_that_is_well_goes_from_the_object_to_its_targets) {
  const Explanation explanation = explain(well());
  const std::vector<Link> links{
      {"object", State::ok, "type LoadBalancer, TCP 80 to node port 30080"},
      {"class", State::ok, "no loadBalancerClass, which is served here"},
      {"wish", State::ok, "all of it can be had"},
      {"manager", State::ok, "a_1 holds kube-system/ccm and renewed it 1s ago"},
      {"switch", State::ok, "nobody has stopped all changes"},
      {"finalizer", State::ok, "service.kubernetes.io/load-balancer-cleanup stands"},
      {"load-balancer", State::ok, "the cloud has " + testing::balancer_name() + ", generation 3"},
      {"address", State::ok, "it holds 192.0.2.1"},
      {"rules", State::ok, "its host holds the rules and answers for the address"},
      {"status", State::ok, "EXTERNAL-IP shows 192.0.2.1"},
      {"targets", State::ok, "2 Nodes are eligible, the cloud sends to 2 addresses"},
      {"health", State::ok, "every target passes its check"}};
  EXPECT_EQ(explanation.links, links);
  EXPECT_EQ(explanation.kind, "Service");
}

TEST(service_explanation, stops_where_there_is_no_such_service) {
  ServiceFacts facts = well();
  facts.service = std::optional<kube::Service>();
  EXPECT_EQ(broken(facts).evidence, "there is no Service shop/web");
  EXPECT_EQ(names(explain(facts)), std::vector<std::string>{"object"});
  facts = well();
  service_of(facts).type = "ClusterIP";
  service_of(facts).meta.finalizers.clear();
  EXPECT_EQ(broken(facts).evidence, "its type is ClusterIP");
}

TEST(service_explanation, stops_at_a_class_of_somebody_else) {
  ServiceFacts facts = well();
  service_of(facts).load_balancer_class = "example.com/lb";
  facts.is_served_here = false;
  EXPECT_EQ(broken(facts).name, "class");
  EXPECT_THAT(broken(facts).evidence, HasSubstr("example.com/lb"));
  EXPECT_THAT(broken(facts).next, HasSubstr("--load-balancer-classes"));
}

TEST(service_explanation, stops_at_a_wish_that_cannot_be_had) {
  ServiceFacts facts = well();
  const kube::Service wrong = testing::annotated("health-check-interval", "soon");
  facts.service = std::optional(wrong);
  facts.plan = testing::plan(wrong);
  EXPECT_EQ(broken(facts).name, "wish");
  EXPECT_THAT(broken(facts).evidence, HasSubstr("InvalidAnnotation: isthmus.dev/health-check"));
}

TEST(service_explanation, stops_where_no_manager_is_alive) {
  ServiceFacts facts = well();
  facts.lease->spec.renew_time = "2026-01-01T00:00:00Z";
  EXPECT_EQ(broken(facts).name, "manager");
}

TEST(service_explanation, stops_where_all_changes_are_stopped) {
  ServiceFacts facts = well();
  facts.safety->stops_all = true;
  EXPECT_EQ(broken(facts).name, "switch");
}

TEST(service_explanation, stops_where_the_manager_has_not_begun) {
  ServiceFacts facts = well();
  service_of(facts).meta.finalizers.clear();
  EXPECT_EQ(broken(facts).name, "finalizer");
}

TEST(service_explanation, says_what_the_manager_said_of_a_load_balancer_that_is_not_there) {
  ServiceFacts facts = well();
  facts.balancer = std::optional<cloud::LoadBalancerState>();
  EXPECT_THAT(broken(facts).next, HasSubstr("log"));
  facts.events = {{.type = "Warning", .reason = "Old", .message = "older"},
                  {.type = "Warning",
                   .reason = "SyncLoadBalancerFailed",
                   .message = "PoolExhausted: pool public"},
                  {.type = "Normal", .reason = "EnsuringLoadBalancer", .message = "Ensuring"}};
  const Link link = broken(facts);
  EXPECT_EQ(link.name, "load-balancer");
  EXPECT_EQ(link.evidence, "the cloud has none of the name " + testing::balancer_name());
  EXPECT_EQ(link.next, "the manager says SyncLoadBalancerFailed: PoolExhausted: pool public");
}

TEST(service_explanation, stops_at_what_the_cloud_does_not_take) {
  ServiceFacts facts = well();
  state_of(facts).problems = {{"listener tcp/80", {Outcome::invalid, "taken"}}};
  EXPECT_EQ(broken(facts).evidence, "listener tcp/80: taken");
}

TEST(service_explanation, stops_where_an_address_is_missing_or_does_not_answer) {
  ServiceFacts facts = well();
  state_of(facts).settled = false;
  EXPECT_EQ(broken(facts).name, "rules");
  EXPECT_EQ(broken(facts).evidence, "the address does not answer yet, and the cloud works on it");
  state_of(facts).unfinished = {{"Programmed", "ProbingAddress asking the link"}};
  EXPECT_EQ(broken(facts).evidence,
            "the address does not answer yet, and the cloud works on it: Programmed: "
            "ProbingAddress asking the link");
  state_of(facts).facts = {{"AddressInUse", "02:00:00:00:00:01 has it"}};
  EXPECT_EQ(broken(facts).evidence,
            "the address does not answer yet: AddressInUse: 02:00:00:00:00:01 has it");
  state_of(facts).addresses.clear();
  EXPECT_EQ(broken(facts).name, "address");
  facts = well();
  state_of(facts).is_leaving = true;
  EXPECT_EQ(broken(facts).name, "rules");
}

TEST(service_explanation, stops_where_the_status_says_something_else) {
  ServiceFacts facts = well();
  service_of(facts).ingress = {{.ip = "203.0.113.9"}};
  EXPECT_EQ(broken(facts).name, "status");
  EXPECT_EQ(broken(facts).evidence, "EXTERNAL-IP shows 203.0.113.9, not 192.0.2.1");
}

TEST(service_explanation, stops_where_nobody_is_sent_to_and_says_why_of_each_node) {
  ServiceFacts facts = well();
  facts.nodes = EligibleNodes{.left_out = {{"n1", "is being deleted"}}};
  EXPECT_EQ(broken(facts).name, "targets");
  EXPECT_EQ(broken(facts).evidence, "no Node is eligible: n1 is being deleted");
  facts = well();
  state_of(facts).targets = 0;
  EXPECT_EQ(broken(facts).name, "targets");
}

TEST(service_explanation, stops_where_nobody_answers) {
  ServiceFacts facts = well();
  state_of(facts).health = Health::none;
  state_of(facts).facts = {{"TargetsUnhealthy", "connection refused"}};
  EXPECT_EQ(broken(facts).name, "health");
  EXPECT_THAT(broken(facts).evidence, HasSubstr("connection refused"));
  state_of(facts).sick = {{"n1 10.0.0.1:30080", "no answer"}, {"n2 10.0.0.2:30080", "refused"}};
  EXPECT_EQ(broken(facts).evidence,
            "no target passes its check: n1 10.0.0.1:30080: no answer; n2 10.0.0.2:30080: refused");
  state_of(facts).health = Health::unknown;
  state_of(facts).facts.clear();
  EXPECT_EQ(explain(facts).links.back().state, State::unknown);
  state_of(facts).health = Health::some;
  EXPECT_FALSE(is_broken(explain(facts)));
}

TEST(service_explanation, stops_at_packets_that_do_not_come_back) {
  ServiceFacts facts = well();
  state_of(facts).facts = {{"ReturnPathMissing", "answers take another way"}};
  EXPECT_EQ(broken(facts).name, "packets");
  EXPECT_EQ(broken(facts).evidence, "ReturnPathMissing: answers take another way");
}

TEST(service_explanation, says_that_events_may_not_be_seen) {
  ServiceFacts facts = well();
  facts.no_events = Error{Outcome::denied, "needs the right to list events"};
  EXPECT_EQ(explain(facts).links[1].name, "events");
  EXPECT_EQ(explain(facts).links[1].state, State::unknown);
  EXPECT_FALSE(is_broken(explain(facts)));
}

TEST(service_explanation, goes_on_past_what_may_not_be_seen_and_names_the_right) {
  ServiceFacts facts = well();
  facts.lease = fail(Outcome::denied, "needs the right to get leases in kube-system");
  facts.nodes = fail(Outcome::denied, "needs the right to list nodes");
  const Explanation explanation = explain(facts);
  EXPECT_FALSE(is_broken(explanation));
  EXPECT_EQ(explanation.links[3].state, State::unknown);
  EXPECT_THAT(explanation.links[3].evidence, HasSubstr("get leases"));
  EXPECT_EQ(explanation.links.back().name, "health");

  facts.balancer = fail(Outcome::unsupported, "the cloud that was named has no load balancers");
  EXPECT_THAT(explain(facts).links[6].next, HasSubstr("this cloud cannot say it"));
  facts.balancer = fail(Outcome::unsupported, "no cloud was named");
  facts.has_cloud = false;
  EXPECT_THAT(explain(facts).links[6].next, HasSubstr("name the cloud as the manager does"));
  EXPECT_EQ(explain(facts).links.back().name, "status");
  service_of(facts).ingress.clear();
  facts.events = {{.type = "Warning", .reason = "R", .message = "words"}};
  EXPECT_EQ(broken(facts).evidence, "EXTERNAL-IP shows nothing");
  EXPECT_EQ(broken(facts).next, "the manager says R: words");
  facts.service = fail(Outcome::denied, "needs the right to get services in shop");
  EXPECT_EQ(names(explain(facts)), std::vector<std::string>{"object"});
}

TEST(service_explanation, of_one_that_leaves_says_what_it_waits_for) {
  ServiceFacts facts = well();
  kube::Service& leaving = service_of(facts);
  leaving.meta.deletion_time = WallTime(std::chrono::seconds(1));
  facts.plan = testing::plan(leaving);
  EXPECT_EQ(broken(facts).name, "release");
  EXPECT_EQ(broken(facts).evidence,
            "it is being deleted, and the cloud still has " + testing::balancer_name());
  facts.balancer = std::optional<cloud::LoadBalancerState>();
  EXPECT_EQ(broken(facts).name, "finalizer");

  ServiceFacts held = well();
  ReleaseService act{.name = testing::balancer_name(), .why = "it is being deleted"};
  held.plan = ServicePlan{act};
  held.balancer = std::optional<cloud::LoadBalancerState>();
  service_of(held).meta.deletion_time = WallTime(std::chrono::seconds(1));
  service_of(held).meta.finalizers = {"example.com/theirs"};
  EXPECT_EQ(broken(held).evidence, "others hold it: example.com/theirs");
}

}  // namespace
}  // namespace isthmus::controllers
