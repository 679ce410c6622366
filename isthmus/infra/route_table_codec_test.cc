#include "isthmus/infra/route_table_codec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/infra/api/object_testing.h"

namespace isthmus::infra {
namespace {

using api::prefix;

RouteTableRecord a_record() {
  const api::RouteTable table = api::a_route_table();
  return {.metadata = table.metadata,
          .spec = table.spec,
          .dropped = {prefix("10.244.7.0/24")},
          .deleted_at = api::kNewYear};
}

TEST(route_table_codec, a_record_is_read_as_it_was_written) {
  Result<RouteTableRecord> read = decode_route_table_record(encode(a_record()), 42);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, a_record());
}

TEST(route_table_codec, a_status_is_read_as_it_was_written) {
  RouteStatusRecord record{without_applied(api::a_route_table().status), 7};
  ASSERT_EQ(record.status.routes.size(), 2) << "one is applied";
  Result<RouteStatusRecord> read = decode_route_status_record(encode(record), 7);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, record);
}

TEST(route_table_codec, a_damaged_record_is_lost) {
  for (std::string_view route : {"", "10.244.1.0/24", "10.244.1.1/24 vm-1", "10.244.1.0/24 v/m",
                                 "10.244.1.0/24 vm-1 here", "10.244.1.0/24 vm-1 10.0.0.1 more"}) {
    std::string text = encode(a_record());
    constexpr std::string_view kRoute = "10.244.1.0/24 vm-1 10.0.0.11";
    text.replace(text.find(kRoute), kRoute.size(), route);
    EXPECT_EQ(decode_route_table_record(text, 1).outcome(), Outcome::lost) << route;
  }
  std::string status = encode(RouteStatusRecord{without_applied(api::a_route_table().status)});
  std::string orphan = status;
  status.replace(status.find(" conflict "), 10, " applied ");
  EXPECT_EQ(decode_route_status_record(status, 1).outcome(), Outcome::lost);
  orphan.replace(orphan.find(" 10.0.0.19"), 10, " there");
  EXPECT_EQ(decode_route_status_record(orphan, 1).outcome(), Outcome::lost);
}

// With uids as most inventories have them.
TEST(route_table_codec, the_largest_table_and_its_status_fit_into_the_store) {
  RouteTableRecord record = a_record();
  RouteStatusRecord status;
  record.spec.routes.clear();
  record.dropped.clear();
  for (std::size_t i = 0; i < api::kRoutesMax; ++i) {
    const IpPrefix destination = prefix(fmt::format("fd00:10:244:{:x}::/64", i));
    record.spec.routes.push_back(
        {destination, fmt::format("{:0>36}", i), api::ip(fmt::format("fd00:10:88::{:x}", i + 1))});
    record.dropped.push_back(prefix(fmt::format("fd00:10:245:{:x}::/64", i)));
    status.status.routes.push_back(
        {destination, api::RouteState::conflict, "ConnectedNetwork", std::string(500, 'm')});
  }
  status.status = without_applied(std::move(status.status));
  for (std::size_t i = 0; i < api::kOrphanRoutesMax; ++i) {
    status.status.orphans.push_back({prefix(fmt::format("fd00:10:246:{:x}::/64", i)),
                                     api::ip(fmt::format("fd00:10:88::{:x}", i + 1))});
  }
  EXPECT_LE(encode(record).size(), kValueBytesMax);
  EXPECT_LE(encode(status).size(), kValueBytesMax);
  EXPECT_EQ(status.status.routes.size(), api::kRoutesMax);
  EXPECT_FALSE(status.status.routes[kRouteMessagesMax - 1].message.empty());
  EXPECT_TRUE(status.status.routes[kRouteMessagesMax].message.empty());
}

}  // namespace
}  // namespace isthmus::infra
