#include "isthmus/infra/api/route_table_input.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isthmus/infra/api/object_testing.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

using Lines = std::vector<std::string>;

Input<RouteTable> decoded(std::string_view body) {
  return decode_route_table_input(body, "prod", "pods");
}

Input<RouteTable> with_spec(const std::string& spec) { return decoded(R"({"spec":)" + spec + "}"); }

// "/spec/routes/0/destination lies in none of the clusterCIDRs"
Lines mistakes(const Input<RouteTable>& input) {
  Lines lines;
  if (input.unreadable) lines.push_back(*input.unreadable);
  for (const FieldError& error : input.errors) lines.push_back(error.pointer + " " + error.detail);
  return lines;
}

TEST(route_table_input, is_read_as_a_client_writes_it) {
  Input<RouteTable> input = decoded(encode_input(a_route_table()));
  EXPECT_EQ(mistakes(input), Lines{});
  EXPECT_EQ(input.object.spec, a_route_table().spec);
  EXPECT_EQ(input.object.metadata.labels, a_route_table().metadata.labels);
}

TEST(route_table_input, takes_back_what_was_answered) {
  Input<RouteTable> input = decoded(encode(a_route_table()));
  EXPECT_EQ(mistakes(input), Lines{});
  EXPECT_EQ(input.object.spec, a_route_table().spec);
  EXPECT_EQ(input.object.status, RouteTableStatus{}) << "a status is the server's to say";
}

TEST(route_table_input, may_have_no_routes_yet) {
  EXPECT_EQ(mistakes(with_spec(R"({"clusterCIDRs":["10.244.0.0/16"],"routes":[]})")), Lines{});
}

TEST(route_table_input, names_everything_that_is_wrong_at_once) {
  EXPECT_EQ(mistakes(with_spec(R"({"clusterCIDRs":["10.244.0.0/16","10.244.128.0/17"],"extra":1,
    "routes":[
      {"destination":"10.245.1.0/24","instance":"vm-1"},
      {"destination":"10.244.2.1/24","instance":"vm-2"},
      {"destination":"10.244.3.0/24"},
      {"destination":"10.244.4.0/24","nextHop":"fd00::1"},
      {"destination":"10.244.5.0/24","nextHop":"fe80::1"},
      {"destination":"10.244.6.0/24","nextHop":"10.244.7.9"},
      {"destination":"10.244.7.0/24","instance":"vm-7","metric":5},
      {"destination":"10.244.7.0/24","instance":"vm-8"},
      {"instance":"vm 9","nextHop":"here"}]})")),
            (Lines{
                "/spec/clusterCIDRs/1 overlaps 10.244.0.0/16",
                "/spec/routes/0/destination lies in none of the clusterCIDRs",
                "/spec/routes/1/destination " + parse_prefix("10.244.2.1/24").error().message,
                "/spec/routes/2 needs an instance, a nextHop, or both",
                "/spec/routes/3/nextHop expected an IPv4 address as the destination is one",
                "/spec/routes/4/nextHop expected an IP address that one machine can have, not a "
                "link-local one",
                "/spec/routes/6/metric unknown field",
                "/spec/routes/7/destination is the destination of another route",
                "/spec/routes/8/destination is required",
                "/spec/routes/8/instance " + *wrong_uid("vm 9"),
                "/spec/routes/8/nextHop expected an IP address",
                "/spec/routes/5/nextHop lies in 10.244.7.0/24, which is routed itself",
                "/spec/extra unknown field",
            }));
}

TEST(route_table_input, routes_nothing_that_is_nobodys) {
  for (std::string_view cidr : {"0.0.0.0/0", "::/0", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4",
                                "fe80::/64", "ff00::/8", "::ffff:10.0.0.0/104"}) {
    const Lines found =
        mistakes(with_spec(fmt::format(R"({{"clusterCIDRs":["{}"],"routes":[]}})", cidr)));
    ASSERT_EQ(found.size(), 1) << cidr;
    EXPECT_TRUE(found[0].starts_with("/spec/clusterCIDRs/0 ")) << found[0];
  }
}

TEST(route_table_input, needs_both_lists) {
  EXPECT_EQ(mistakes(with_spec("{}")),
            (Lines{"/spec/clusterCIDRs is required", "/spec/routes is required"}));
  EXPECT_EQ(mistakes(with_spec(R"({"clusterCIDRs":[],"routes":[]})")),
            Lines{"/spec/clusterCIDRs must not be empty"});
}

// Destinations that differ as texts only are one.
TEST(route_table_input, compares_destinations_and_not_their_texts) {
  EXPECT_EQ(mistakes(with_spec(R"({"clusterCIDRs":["fd00::/48"],"routes":[
      {"destination":"fd00:0:0:1::/64","instance":"vm-1"},
      {"destination":"fd00:0000:0:0001:0::/64","instance":"vm-2"}]})")),
            Lines{"/spec/routes/1/destination is the destination of another route"});
}

std::string of_routes(std::size_t count) {
  std::string routes;
  for (std::size_t i = 0; i < count; ++i) {
    routes += fmt::format(R"({}{{"destination":"fd00:1111:2222:{:x}::/64","instance":"{:0>63}",)"
                          R"("nextHop":"fd01:1111:2222:3333:4444:5555:6666:{:x}"}})",
                          i == 0 ? "" : ",", i, i, i + 1);
  }
  return R"({"clusterCIDRs":["fd00:1111:2222::/48"],"routes":[)" + routes + "]}";
}

TEST(route_table_input, has_room_for_so_many_routes_and_no_more) {
  const std::string most = R"({"spec":)" + of_routes(kRoutesMax) + "}";
  EXPECT_LE(most.size(), kRouteTableBodyMax);
  EXPECT_EQ(mistakes(decoded(most)), Lines{});
  const Lines found = mistakes(with_spec(of_routes(kRoutesMax + 1)));
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].starts_with("/spec/routes ")) << found[0];
}

}  // namespace
}  // namespace isthmus::infra::api
