#include "isthmus/infra/drivers/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "isthmus/infra/drivers/lab_testing.h"

namespace isthmus::infra::drivers {
namespace {

using Kind = RouteChange::Kind;
using Lines = std::vector<std::string>;

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }
IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

HostRoute route(std::string_view destination, std::string_view next_hop,
                std::string interface = "lan") {
  return {prefix(destination), ip(next_hop), std::move(interface)};
}

TEST(routes, one_that_packets_take_is_told_as_ip_tells_it) {
  TakenRoute taken{prefix("10.244.1.0/24"), 4, 0, ip("10.0.0.9"), "eth0"};
  EXPECT_EQ(to_string(taken), "10.244.1.0/24 via 10.0.0.9 dev eth0 proto static metric 0");
  taken = {prefix("fd00::/64"), 77, 1024, std::nullopt, ""};
  EXPECT_EQ(to_string(taken), "fd00::/64 proto 77 metric 1024");
}

class RoutesTest : public testing::PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (!granted) return;
    host.emplace();
    host->ip(
        "link set lo up\nlink add lan type veth peer name other\nlink set lan up\n"
        "link set other up\naddr add 10.88.0.1/24 dev lan\naddr add fd88::1/64 dev lan nodad");
    routes.emplace(KernelRoutes::open().value());
  }

  // "10.244.1.0/24 10.88.0.11 lan"
  Lines held() {
    Lines lines;
    Result<std::vector<HostRoute>> found = routes->observe();
    EXPECT_TRUE(found) << found.error().message;
    for (const HostRoute& one : *found) {
      lines.push_back(fmt::format("{} {} {}", to_string(one.destination), to_string(one.next_hop),
                                  one.interface));
    }
    return lines;
  }

  // What became of each: "", or the word for its outcome.
  Lines apply(const std::vector<RouteChange>& changes) {
    Lines lines;
    Result<RouteBook::Refusals> refused = routes->apply(changes);
    EXPECT_TRUE(refused) << refused.error().message;
    for (const std::optional<Error>& error : *refused) {
      lines.emplace_back(error ? to_string(error->outcome) : "");
    }
    return lines;
  }

  Lines taken(const std::vector<IpPrefix>& destinations) {
    Lines lines;
    Result<RouteBook::TakenRoutes> found = routes->taken(destinations);
    EXPECT_TRUE(found) << found.error().message;
    for (const std::optional<TakenRoute>& one : *found) {
      lines.push_back(one ? to_string(*one) : "none");
    }
    return lines;
  }

  std::optional<testing::Namespace> host;
  std::optional<KernelRoutes> routes;
};

const HostRoute kFour = route("10.244.1.0/24", "10.88.0.11");
const HostRoute kSix = route("fd00:10:244:1::/64", "fd88::11");

TEST_F(RoutesTest, are_made_changed_and_taken_away_in_both_families) {
  EXPECT_EQ(held(), Lines{});
  EXPECT_EQ(apply({{Kind::add, kFour}, {Kind::add, kSix}}), (Lines{"", ""}));
  EXPECT_EQ(held(), (Lines{"10.244.1.0/24 10.88.0.11 lan", "fd00:10:244:1::/64 fd88::11 lan"}));
  EXPECT_TRUE(host->run("ip route show 10.244.1.0/24")
                  .contains("via 10.88.0.11 dev lan proto 66 metric 66"));
  EXPECT_TRUE(host->run("ip -6 route show fd00:10:244:1::/64")
                  .contains("via fd88::11 dev lan proto 66 metric 66"));

  EXPECT_EQ(apply({{Kind::replace, route("10.244.1.0/24", "10.88.0.12")},
                   {Kind::replace, route("fd00:10:244:1::/64", "fd88::12")}}),
            (Lines{"", ""}));
  EXPECT_EQ(held(), (Lines{"10.244.1.0/24 10.88.0.12 lan", "fd00:10:244:1::/64 fd88::12 lan"}));

  EXPECT_EQ(apply({{Kind::remove, route("10.244.1.0/24", "10.88.0.12")},
                   {Kind::remove, route("fd00:10:244:1::/64", "fd88::12")}}),
            (Lines{"", ""}));
  EXPECT_EQ(held(), Lines{});
}

TEST_F(RoutesTest, each_change_is_made_or_refused_for_itself) {
  EXPECT_EQ(apply({{Kind::add, route("10.244.1.0/24", "10.99.0.1")},
                   {Kind::add, route("10.244.2.0/24", "10.88.0.12")},
                   {Kind::remove, route("10.244.3.0/24", "10.88.0.13")},
                   {Kind::replace, route("10.244.4.0/24", "10.88.0.14")},
                   {Kind::add, route("10.244.5.0/24", "10.88.0.15", "gone")},
                   {Kind::add, route("10.244.6.0/24", "10.88.0.16")}}),
            (Lines{"lost", "", "absent", "absent", "absent", ""}));
  EXPECT_EQ(held(), (Lines{"10.244.2.0/24 10.88.0.12 lan", "10.244.6.0/24 10.88.0.16 lan"}));
}

TEST_F(RoutesTest, of_others_are_neither_seen_nor_changed) {
  host->ip(
      "route add 10.244.1.0/24 via 10.88.0.9 proto static metric 66\n"
      "route add fd00:10:244:1::/64 via fd88::9 proto static metric 66");
  // Not in the same batch, where `ip` takes the number for the name before.
  host->ip("route add 10.244.2.0/24 via 10.88.0.9 proto 66 metric 7");
  const std::string before = host->run("ip route; ip -6 route");
  EXPECT_EQ(held(), Lines{});
  EXPECT_EQ(apply({{Kind::add, kFour},
                   {Kind::add, kSix},
                   {Kind::remove, route("10.244.1.0/24", "10.88.0.9")},
                   {Kind::remove, route("fd00:10:244:1::/64", "fd88::9")}}),
            (Lines{"conflict", "conflict", "absent", "absent"}));
  EXPECT_EQ(host->run("ip route; ip -6 route"), before);
}

TEST_F(RoutesTest, say_which_route_packets_take) {
  EXPECT_EQ(taken({prefix("10.244.1.0/24"), prefix("fd00:10:244:1::/64")}),
            (Lines{"none", "none"}));
  (void)apply({{Kind::add, kFour}, {Kind::add, kSix}});
  host->ip("route add 10.244.2.0/24 via 10.88.0.9 proto static");
  EXPECT_EQ(taken({prefix("10.244.1.0/24"), prefix("10.244.2.0/24"), prefix("10.244.3.0/24"),
                   prefix("fd00:10:244:1::/64")}),
            (Lines{"10.244.1.0/24 via 10.88.0.11 dev lan proto 66 metric 66",
                   "10.244.2.0/24 via 10.88.0.9 dev lan proto static metric 0", "none",
                   "fd00:10:244:1::/64 via fd88::11 dev lan proto 66 metric 66"}));
  host->ip("route add 10.244.1.0/24 via 10.88.0.9 proto bird metric 5");
  EXPECT_EQ(taken({prefix("10.244.1.0/24")}),
            Lines{"10.244.1.0/24 via 10.88.0.9 dev lan proto bird metric 5"});
}

TEST_F(RoutesTest, behind_one_that_lets_no_packet_through_are_taken_by_none) {
  const std::vector<IpPrefix> both{kFour.destination, kSix.destination};
  (void)apply({{Kind::add, kFour}, {Kind::add, kSix}});
  for (const std::string_view kind : {"blackhole", "unreachable", "prohibit"}) {
    host->ip(
        fmt::format("route add {0} 10.244.1.0/24 metric 5\n"
                    "route add {0} fd00:10:244:1::/64 metric 5",
                    kind));
    EXPECT_EQ(taken(both), (Lines{"none", "none"})) << kind;
    host->ip(
        fmt::format("route del {0} 10.244.1.0/24 metric 5\n"
                    "route del {0} fd00:10:244:1::/64 metric 5",
                    kind));
    for (const std::string& line : taken(both)) EXPECT_TRUE(line.contains("proto 66")) << kind;
  }
}

// Why everything is read again when a link comes or goes.
TEST_F(RoutesTest, of_ipv4_are_gone_when_their_link_was_down_and_can_be_made_again) {
  (void)apply({{Kind::add, kFour}, {Kind::add, kSix}});
  host->ip("link set lan down\nlink set lan up");
  for (const std::string& line : held()) EXPECT_FALSE(line.starts_with("10.244.1.0/24"));
  EXPECT_EQ(apply({{Kind::add, kFour}}), Lines{""});
}

// One that somebody made by hand with our numbers, and that has no next hop, is taken away all the
// same.
TEST_F(RoutesTest, in_a_form_that_is_not_ours_can_be_taken_away) {
  host->ip("route add 10.244.9.0/24 dev lan proto 66 metric 66");
  EXPECT_EQ(held(), Lines{"10.244.9.0/24 0.0.0.0 lan"});
  EXPECT_EQ(apply({{Kind::remove, routes->observe().value().front()}}), Lines{""});
  EXPECT_EQ(held(), Lines{});
}

TEST_F(RoutesTest, are_so_many_as_a_large_cluster_needs) {
  std::vector<RouteChange> changes;
  for (unsigned i = 0; i < 5000; ++i) {
    changes.push_back({Kind::add, route(fmt::format("10.{}.{}.0/24", 100 + i / 250, i % 250),
                                        fmt::format("10.88.0.{}", 2 + i % 250))});
  }
  EXPECT_EQ(apply(changes), Lines(changes.size()));
  EXPECT_EQ(held().size(), changes.size());
  std::vector<IpPrefix> destinations;
  for (const RouteChange& change : changes) destinations.push_back(change.route.destination);
  for (const std::string& line : taken(destinations)) EXPECT_TRUE(line.contains("proto 66"));
  EXPECT_EQ(apply(changes), Lines(changes.size(), "conflict")) << "every error is told";
}

}  // namespace
}  // namespace isthmus::infra::drivers
