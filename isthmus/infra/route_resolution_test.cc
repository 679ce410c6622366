#include "isthmus/infra/route_resolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace isthmus::infra {
namespace {

using drivers::HostRoute;
using Kind = drivers::RouteChange::Kind;

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }
IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

class route_resolution : public testing::Test {
 protected:
  void add_machine(const std::string& uid, std::vector<api::Address> addresses,
                   api::Presence presence = api::Presence::present) {
    InstanceRecord record;
    record.instance.uid = uid;
    record.instance.addresses = std::move(addresses);
    record.instance.presence = presence;
    machines.records[uid] = std::make_shared<const InstanceRecord>(std::move(record));
  }

  // "10.88.0.11 lan", or "pending LinkDown lan is down".
  std::string resolved(std::string_view destination, std::string instance,
                       std::string_view next_hop = "") {
    RouteTableRecord record;
    record.spec.routes = others;
    record.spec.routes.push_back({prefix(destination), std::move(instance), std::nullopt});
    if (!next_hop.empty()) record.spec.routes.back().next_hop = ip(next_hop);
    WantedRoutes wanted;
    resolve(record, &machines, host, wanted);
    const WantedRoute& one = wanted.at(prefix(destination));
    if (one.route) return to_string(one.route->next_hop) + " " + one.route->interface;
    return fmt::format("{} {} {}", to_string(one.status.state), one.status.reason,
                       one.status.message);
  }

  InstanceSnapshot machines;
  std::vector<drivers::InterfaceAddress> host{{ip("10.0.0.2"), 8, "wan", false},
                                              {ip("10.88.0.1"), 24, "lan", false},
                                              {ip("fd88::1"), 64, "lan", false}};
  std::vector<api::RouteEntry> others;
};

TEST_F(route_resolution, a_next_hop_is_reached_through_the_network_it_lies_in) {
  EXPECT_EQ(resolved("172.16.1.0/24", "", "10.88.0.11"), "10.88.0.11 lan") << "the longest one";
  EXPECT_EQ(resolved("172.16.1.0/24", "", "10.9.9.9"), "10.9.9.9 wan");
  EXPECT_EQ(resolved("172.16.1.0/24", "", "192.0.2.1"),
            "pending NextHopNotOnLink no interface of this host is connected to 192.0.2.1");
  EXPECT_EQ(resolved("172.16.1.0/24", "", "10.88.0.1"),
            "pending NextHopNotOnLink 10.88.0.1 is an address of this host");
  host[1].link_down = true;
  EXPECT_EQ(resolved("172.16.1.0/24", "", "10.88.0.11"), "pending LinkDown lan is down");
}

TEST_F(route_resolution, of_two_interfaces_in_one_network_the_first_is_taken_that_is_up) {
  host.push_back({ip("10.88.0.2"), 24, "lan2", false});
  EXPECT_EQ(resolved("172.16.1.0/24", "", "10.88.0.11"), "10.88.0.11 lan");
  host[1].link_down = true;
  EXPECT_EQ(resolved("172.16.1.0/24", "", "10.88.0.11"), "10.88.0.11 lan2");
  host[3].link_down = true;
  EXPECT_EQ(resolved("172.16.1.0/24", "", "10.88.0.11"), "pending LinkDown lan is down");
}

TEST_F(route_resolution, without_a_next_hop_it_is_the_machines_first_internal_address) {
  using enum api::AddressType;
  add_machine("vm-1", {{external_ip, "10.88.0.99"},
                       {internal_ip, "10.88.0.11"},
                       {internal_ip, "10.88.0.12"},
                       {hostname, "vm-1"},
                       {internal_ip, "fd88::11"}});
  EXPECT_EQ(resolved("172.16.1.0/24", "vm-1"), "10.88.0.11 lan");
  EXPECT_EQ(resolved("fd00:1::/64", "vm-1"), "fd88::11 lan");
  EXPECT_EQ(resolved("172.16.1.0/24", "vm-1", "10.88.0.77"), "10.88.0.77 lan") << "it was said";
}

TEST_F(route_resolution, of_a_machine_that_cannot_be_reached_says_why) {
  using enum api::AddressType;
  add_machine("vm-1", {{internal_ip, "10.88.0.11"}});
  add_machine("old", {{internal_ip, "10.88.0.12"}}, api::Presence::absent);
  add_machine("lost", {{internal_ip, "10.88.0.13"}}, api::Presence::unknown);
  EXPECT_EQ(resolved("172.16.1.0/24", "vm-2"),
            "pending InstanceUnknown the inventory has no machine vm-2");
  EXPECT_EQ(resolved("172.16.1.0/24", "old"),
            "pending InstanceUnknown the inventory has no machine old");
  EXPECT_EQ(resolved("172.16.1.0/24", "lost"), "10.88.0.13 lan") << "it may well run";
  EXPECT_EQ(resolved("fd00:1::/64", "vm-1"),
            "pending NoNextHop machine vm-1 has no IPv6 address of type InternalIP");
}

TEST_F(route_resolution, no_route_takes_the_hosts_own_network_or_its_own_next_hop) {
  EXPECT_EQ(resolved("10.88.0.0/16", "", "10.9.9.9"),
            "conflict ConnectedNetwork 10.88.0.1 of lan lies in it, and it would take the host's "
            "own network");
  EXPECT_EQ(resolved("10.88.0.128/25", "", "10.88.0.11"), "10.88.0.11 lan")
      << "part of a network can lie behind a machine";
  others = {{prefix("10.88.0.64/26"), "", ip("10.88.0.11")}};
  EXPECT_EQ(resolved("172.16.1.0/24", "", "10.88.0.70"),
            "pending NextHopNotOnLink 10.88.0.70 lies in 10.88.0.64/26, which is routed itself");
}

// What compare() answers, one line each: "add 10.244.1.0/24 10.88.0.11".
std::vector<std::string> lines(const RouteWork& work) {
  std::vector<std::string> lines;
  for (const drivers::RouteChange& change : work.changes) {
    const std::string_view word = change.kind == Kind::add       ? "add"
                                  : change.kind == Kind::replace ? "replace"
                                                                 : "remove";
    lines.push_back(fmt::format("{} {} {}", word, to_string(change.route.destination),
                                to_string(change.route.next_hop)));
  }
  for (const auto& [destination, next_hop] : work.orphans) {
    lines.push_back(fmt::format("orphan {} {}", to_string(destination), to_string(next_hop)));
  }
  return lines;
}

using Lines = std::vector<std::string>;

HostRoute route(std::string_view destination, std::string_view next_hop) {
  return {prefix(destination), ip(next_hop), "lan"};
}

WantedRoutes wanting(const std::vector<HostRoute>& routes) {
  WantedRoutes wanted;
  for (const HostRoute& one : routes) wanted[one.destination].route = one;
  return wanted;
}

TEST(route_comparison, makes_the_difference_and_leaves_what_is_right) {
  const WantedRoutes wanted =
      wanting({route("10.244.1.0/24", "10.88.0.11"), route("10.244.2.0/24", "10.88.0.12"),
               route("10.244.3.0/24", "10.88.0.13")});
  EXPECT_EQ(
      lines(compare(wanted,
                    {route("10.244.0.0/24", "10.88.0.10"), route("10.244.1.0/24", "10.88.0.11"),
                     route("10.244.2.0/24", "10.88.0.99"), route("10.9.0.0/24", "10.88.0.9")},
                    {.ranges = {prefix("10.244.0.0/16")}})),
      (Lines{"replace 10.244.2.0/24 10.88.0.12", "add 10.244.3.0/24 10.88.0.13",
             "remove 10.244.0.0/24 10.88.0.10", "orphan 10.9.0.0/24 10.88.0.9"}));
}

TEST(route_comparison, what_nobody_claims_stays) {
  EXPECT_EQ(lines(compare({}, {route("10.244.1.0/24", "10.88.0.11")}, {})),
            Lines{"orphan 10.244.1.0/24 10.88.0.11"});
}

TEST(route_comparison, a_destination_that_was_dropped_goes_and_no_other_in_it) {
  RouteClaims claims;
  claims.add(
      {.spec = {.cluster_cidrs = {prefix("10.244.0.0/16")}}, .dropped = {prefix("10.244.0.0/20")}},
      false);
  EXPECT_EQ(
      lines(compare({},
                    {route("10.244.0.0/20", "10.88.0.10"), route("10.244.1.0/24", "10.88.0.11"),
                     route("10.244.16.0/24", "10.88.0.12")},
                    claims)),
      (Lines{"remove 10.244.0.0/20 10.88.0.10", "orphan 10.244.1.0/24 10.88.0.11",
             "orphan 10.244.16.0/24 10.88.0.12"}));
}

TEST(route_comparison, a_table_that_leaves_takes_all_in_its_cluster_cidrs_with_it) {
  RouteTableRecord leaving{.spec = {.cluster_cidrs = {prefix("10.244.0.0/16")}},
                           .dropped = {prefix("10.200.1.0/24")}};
  leaving.metadata.deletion_requested_at = WallTime{};
  RouteClaims claims;
  claims.add(leaving, false);
  EXPECT_EQ(
      lines(compare({},
                    {route("10.200.1.0/24", "10.88.0.10"), route("10.200.2.0/24", "10.88.0.10"),
                     route("10.244.1.0/24", "10.88.0.11")},
                    claims)),
      (Lines{"remove 10.200.1.0/24 10.88.0.10", "remove 10.244.1.0/24 10.88.0.11",
             "orphan 10.200.2.0/24 10.88.0.10"}));
}

TEST(route_comparison, what_was_dropped_stays_once_the_host_has_followed) {
  RouteTableRecord record{.spec = {.cluster_cidrs = {prefix("10.244.0.0/16")}},
                          .dropped = {prefix("10.200.1.0/24")}};
  RouteClaims claims;
  claims.add(record, true);
  record.metadata.deletion_requested_at = WallTime{};
  claims.add(record, true);
  EXPECT_EQ(lines(compare({}, {route("10.200.1.0/24", "10.88.0.10")}, claims)),
            Lines{"orphan 10.200.1.0/24 10.88.0.10"});
}

TEST(route_orphans, are_told_by_the_table_in_whose_cidrs_they_lie_up_to_a_limit) {
  RouteTableRecord record{.spec = {.cluster_cidrs = {prefix("10.244.0.0/16")}}};
  EXPECT_EQ(orphans_of(record, {{prefix("10.9.0.0/24"), ip("10.88.0.9")},
                                {prefix("10.244.1.0/24"), ip("10.88.0.11")},
                                {prefix("10.244.2.0/24"), ip("0.0.0.0")}}),
            (std::vector<api::OrphanRoute>{{prefix("10.244.1.0/24"), ip("10.88.0.11")},
                                           {prefix("10.244.2.0/24"), std::nullopt}}));
  OrphanRoutes many;
  for (int i = 0; i < 1000; ++i) {
    many[prefix(fmt::format("10.244.{}.{}/28", i / 16, i % 16 * 16))] = ip("10.88.0.11");
  }
  EXPECT_EQ(orphans_of(record, many).size(), api::kOrphanRoutesMax);
  record.spec.routes.resize(api::kRoutesMax);
  EXPECT_EQ(orphans_of(record, many).size(), api::kOrphanRoutesMax) << "people see them as well";
}

TEST(route_orphans, that_can_be_named_are_told_before_those_that_cannot) {
  const RouteTableRecord record{.spec = {.cluster_cidrs = {prefix("10.244.0.0/16")}}};
  OrphanRoutes orphans;
  for (int i = 0; i < 1000; ++i) {
    orphans[prefix(fmt::format("10.244.{}.{}/28", i / 16, i % 16 * 16))] = ip("0.0.0.0");
  }
  const IpPrefix last = prefix("10.244.99.0/24");
  orphans[last] = ip("10.88.0.11");
  const std::vector<api::OrphanRoute> told = orphans_of(record, orphans);
  EXPECT_EQ(told.size(), api::kOrphanRoutesMax);
  EXPECT_EQ(told.back(), (api::OrphanRoute{last, ip("10.88.0.11")}));
  EXPECT_TRUE(std::ranges::is_sorted(told, {}, &api::OrphanRoute::destination));
}

TEST(route_comparison, a_destination_without_a_route_keeps_what_it_has) {
  WantedRoutes wanted;
  wanted[prefix("10.244.1.0/24")] = {};
  EXPECT_EQ(lines(compare(wanted, {route("10.244.1.0/24", "10.88.0.11")},
                          {.ranges = {prefix("10.244.0.0/16")}})),
            Lines{});
}

TEST(route_comparison, of_several_for_one_destination_the_right_one_stays) {
  const WantedRoutes wanted = wanting({route("10.244.1.0/24", "10.88.0.12")});
  EXPECT_EQ(lines(compare(
                wanted,
                {route("10.244.1.0/24", "10.88.0.11"), route("10.244.1.0/24", "10.88.0.12")}, {})),
            Lines{"remove 10.244.1.0/24 10.88.0.11"});
  EXPECT_EQ(lines(compare(
                wanted,
                {route("10.244.1.0/24", "10.88.0.11"), route("10.244.1.0/24", "10.88.0.13")}, {})),
            (Lines{"replace 10.244.1.0/24 10.88.0.12", "remove 10.244.1.0/24 10.88.0.13"}));
}

}  // namespace
}  // namespace isthmus::infra
