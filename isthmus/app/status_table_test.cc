#include "isthmus/app/status_table.h"

#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using namespace std::chrono_literals;
namespace api = infra::api;
using api::ConditionStatus;

const WallTime kNow{1'767'225'600s};  // 2026-01-01T00:00:00Z

api::Condition condition(std::string_view type, ConditionStatus status, std::string reason,
                         std::string message) {
  return {.type = std::string(type),
          .status = status,
          .reason = std::move(reason),
          .message = std::move(message),
          .last_transition = kNow,
          .observed_generation = 7};
}

api::LoadBalancer a_balancer(std::string name) {
  api::LoadBalancer balancer;
  balancer.metadata.owner = "prod";
  balancer.metadata.name = std::move(name);
  balancer.metadata.generation = 7;
  balancer.status.applied_generation = 7;
  balancer.status.addresses = {parse_ip("192.0.2.1").value(), parse_ip("2001:db8::1").value()};
  balancer.status.targets = balancer.status.targets_healthy = 3;
  balancer.status.conditions = {
      condition(api::condition::programmed, ConditionStatus::is_true, "Programmed", ""),
      condition(api::condition::ready, ConditionStatus::is_true, "Ready", "")};
  return balancer;
}

TEST(status_table, shows_every_kind_aligned_and_why_something_is_not_as_it_should_be) {
  StatusReport report;
  report.balancers = {a_balancer("web"), a_balancer("a-longer-name")};
  api::LoadBalancer& bad = report.balancers[1];
  bad.metadata.generation = 8;
  bad.status.targets_healthy = 1;
  bad.status.repairs = 2;
  bad.status.last_repair = kNow;
  bad.status.last_repair_reason = "slots were missing";
  bad.status.conditions = {
      condition(api::condition::programmed, ConditionStatus::is_false, "AddressConflict",
                "192.0.2.1 is answered for by 02:00:00:00:00:01; release it there"),
      condition(api::condition::targets_healthy, ConditionStatus::is_false, "SomeUnhealthy",
                "10.0.0.3:8080: connection refused"),
      condition(api::condition::ready, ConditionStatus::is_false, "AddressConflict", "")};
  api::AllocatedAddress cooling;
  cooling.address = parse_ip("192.0.2.7").value();
  cooling.state = api::AllocatedAddress::State::cooling;
  cooling.owner = "prod";
  cooling.holders = {"old"};
  cooling.pool = "public";
  cooling.free_at = kNow + 90s;
  report.addresses = {cooling};
  api::Pool pool;
  pool.name = "public";
  pool.ranges = {parse_prefix("192.0.2.0/28").value(), parse_prefix("2001:db8::/120").value()};
  pool.use = {{IpFamily::v4, 16, 2, 1, 13}};
  report.pools = {pool};
  report.orphans =
      std::vector<api::Orphan>{{"prod", "lost", 3, {parse_ip("192.0.2.9").value()}, false}};

  EXPECT_EQ(
      status_table(report, kNow),
      "OWNER  LOAD BALANCER  ADDRESSES              READY  PROGRAMMED  HEALTHY  GENERATION  "
      "REPAIRS\n"
      "prod   web            192.0.2.1,2001:db8::1  True   True        3/3      7/7         0\n"
      "prod   a-longer-name  192.0.2.1,2001:db8::1  False  False       1/3      7/8         2\n"
      "  └ Programmed: AddressConflict (192.0.2.1 is answered for by 02:00:00:00:00:01; release it "
      "there)\n"
      "  └ TargetsHealthy: SomeUnhealthy (10.0.0.3:8080: connection refused)\n"
      "  └ last repaired 2026-01-01T00:00:00Z: slots were missing\n"
      "\n"
      "ADDRESS    STATE                   OWNER  HOLDERS  POOL    HOST\n"
      "192.0.2.7  cooling, free in 1m30s  prod   old      public  -\n"
      "\n"
      "POOL    FAMILY  TOTAL  HELD  COOLING  FREE  RANGES\n"
      "public  IPv4    16     2     1        13    192.0.2.0/28\n"
      "\n"
      "OWNER  ORPHAN  ADDRESSES  GENERATION\n"
      "prod   lost    192.0.2.9  3\n"
      "  └ the host holds it and the store does not know it: a PUT of its name adopts it, "
      "DELETE /v1/orphans/prod/lost removes it\n");
}

TEST(status_table, shows_route_tables_and_why_one_is_not_as_it_should_be) {
  StatusReport report;
  api::RouteTable table;
  table.metadata.owner = "prod";
  table.metadata.name = "pods";
  table.metadata.generation = 2;
  table.spec.cluster_cidrs = {parse_prefix("10.244.0.0/16").value()};
  for (std::string_view text : {"10.244.1.0/24", "10.244.2.0/24"}) {
    const IpPrefix destination = parse_prefix(text).value();
    table.spec.routes.push_back({destination, "vm-1", std::nullopt});
    table.status.routes.push_back({destination, api::RouteState::applied, "", ""});
  }
  table.status.routes[1].state = api::RouteState::conflict;
  table.status.applied_generation = 2;
  table.status.conditions = {{.type = "Programmed",
                              .status = api::ConditionStatus::is_false,
                              .reason = "RouteConflict",
                              .message = "1 of 2 routes are in conflict",
                              .last_transition = {},
                              .observed_generation = 2}};
  report.route_tables = {table};
  EXPECT_TRUE(
      status_table(report, kNow)
          .contains("OWNER  ROUTE TABLE  CLUSTER CIDRS  READY    PROGRAMMED  APPLIED  GENERATION\n"
                    "prod   pods         10.244.0.0/16  Unknown  False       1/2      2/2\n"
                    "  └ Programmed: RouteConflict (1 of 2 routes are in conflict)\n"))
      << status_table(report, kNow);
  EXPECT_FALSE(is_well(report));
}

TEST(status_table, of_nothing_says_so) {
  EXPECT_EQ(status_table({}, kNow), "No load balancers.\n\nNo pools.\n");
}

TEST(status_table, a_load_balancer_that_leaves_or_was_not_looked_at_says_so) {
  StatusReport report;
  report.balancers = {a_balancer("gone"), a_balancer("new")};
  report.balancers[0].metadata.deletion_requested_at = kNow;
  report.balancers[1].metadata.generation = 9;
  std::string text = status_table(report, kNow);
  EXPECT_NE(text.find("└ leaving since 2026-01-01T00:00:00Z"), std::string::npos) << text;
  EXPECT_NE(text.find("└ generation 9 is not taken up yet"), std::string::npos) << text;
}

TEST(status_table, shows_nothing_that_a_terminal_would_obey) {
  EXPECT_EQ(aligned({{"A", "B"}, {"x\x1b[2J", "y"}, {"a\nb"}}), "A      B\nx?[2J  y\na?b\n");
}

}  // namespace
}  // namespace isthmus::app
