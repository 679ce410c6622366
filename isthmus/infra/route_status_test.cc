#include "isthmus/infra/route_status.h"

#include <gtest/gtest.h>

#include <chrono>

namespace isthmus::infra {
namespace {

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

WallTime at_second(int second) { return WallTime(std::chrono::seconds(1'767'225'600 + second)); }

RouteTableRecord a_record() {
  RouteTableRecord record;
  record.metadata.generation = 3;
  record.spec.routes = {{prefix("10.244.1.0/24"), "vm-1", std::nullopt},
                        {prefix("10.244.2.0/24"), "vm-2", std::nullopt}};
  return record;
}

// "True Ready", with the message behind it where there is one.
std::string said(const api::RouteTableStatus& status, std::string_view type) {
  const api::Condition* condition = api::find(status.conditions, type);
  std::string text = std::string(api::to_string(condition->status)) + " " + condition->reason;
  return condition->message.empty() ? text : text + ": " + condition->message;
}

TEST(route_status, of_a_table_whose_routes_are_all_applied_is_ready) {
  const api::RouteTableStatus status = status_of(a_record(), {3, {}, {}, {}}, {}, at_second(0));
  EXPECT_EQ(status.observed_generation, 3u);
  EXPECT_EQ(status.applied_generation, 3u);
  EXPECT_EQ(said(status, api::condition::accepted), "True Accepted");
  EXPECT_EQ(said(status, api::condition::programmed), "True Programmed");
  EXPECT_EQ(said(status, api::condition::ready), "True Ready");
}

TEST(route_status, names_how_many_are_not_applied_and_the_first_of_them) {
  const std::vector<api::RouteStatus> not_applied = {
      {prefix("10.244.1.0/24"), api::RouteState::pending, "LinkDown", "eth0 is down"},
      {prefix("10.244.2.0/24"), api::RouteState::conflict, "ForeignRoute",
       "static is not from us"}};
  EXPECT_EQ(said(status_of(a_record(), {3, not_applied, {}, {}}, {}, at_second(0)),
                 api::condition::programmed),
            "False RouteConflict: 1 of 2 routes are in conflict; 10.244.2.0/24: static is not from "
            "us");
  EXPECT_EQ(said(status_of(a_record(), {3, {not_applied[0]}, {}, {}}, {}, at_second(0)),
                 api::condition::ready),
            "False RoutesPending: 1 of 2 routes are pending; 10.244.1.0/24: eth0 is down");
}

TEST(route_status, of_a_host_that_is_not_kept_or_does_not_forward_says_so) {
  api::RouteTableStatus status =
      status_of(a_record(), {2, {}, "the kernel does not answer", {}}, {}, at_second(0));
  EXPECT_EQ(said(status, api::condition::ready), "False RoutesFailed: the kernel does not answer");
  status = status_of(a_record(), {2, {}, {}, {}}, {}, at_second(0));
  EXPECT_EQ(said(status, api::condition::ready),
            "Unknown Pending: the host has not taken all of it up yet");
  status = status_of(a_record(), {3, {}, {}, "run sysctl"}, {}, at_second(0));
  EXPECT_EQ(said(status, api::condition::programmed), "True Programmed");
  EXPECT_EQ(said(status, api::condition::ready), "False ForwardingOff: run sysctl");
}

TEST(route_status, of_a_table_with_orphans_tells_them_and_is_ready_all_the_same) {
  const std::vector<api::OrphanRoute> orphans = {{prefix("10.244.9.0/24"), std::nullopt}};
  const api::RouteTableStatus status =
      status_of(a_record(), {3, {}, {}, {}, orphans}, {}, at_second(0));
  EXPECT_EQ(status.orphans, orphans);
  EXPECT_EQ(said(status, api::condition::ready), "True Ready");
}

TEST(route_status, keeps_the_time_of_what_does_not_change) {
  const api::RouteTableStatus before = status_of(a_record(), {3, {}, {}, {}}, {}, at_second(0));
  const api::RouteTableStatus after = status_of(a_record(), {3, {}, {}, {}}, before, at_second(9));
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace isthmus::infra
