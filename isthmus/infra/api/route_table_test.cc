#include "isthmus/infra/api/route_table.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/object_testing.h"

namespace isthmus::infra::api {
namespace {

TEST(route_table, is_read_as_it_was_written) {
  Result<RouteTable> read = decode_route_table(encode(a_route_table()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, a_route_table());

  RouteTableList list{.items = {a_route_table()}, .revision = 9, .continue_token = "next"};
  Result<RouteTableList> read_list = decode_route_table_list(encode(list));
  ASSERT_TRUE(read_list) << read_list.error().message;
  EXPECT_EQ(*read_list, list);
}

TEST(route_table, is_written_as_the_document_says) {
  EXPECT_EQ(encode_input(a_route_table()),
            R"({"kind":"RouteTable",)"
            R"("metadata":{"name":"pods","labels":{"app":"web"},"deletionProtection":true},)"
            R"("spec":{"clusterCIDRs":["10.244.0.0/16","fd00:10:244::/48"],"routes":[)"
            R"({"destination":"10.244.1.0/24","instance":"vm-1","nextHop":"10.0.0.11"},)"
            R"({"destination":"10.244.2.0/24","nextHop":"10.0.0.12"},)"
            R"({"destination":"fd00:10:244:1::/64","instance":"vm-1"}]}})");
}

TEST(route_table, of_a_newer_server_is_read_with_its_unknown_states_as_pending) {
  Result<RouteTable> read = decode_route_table(
      R"({"kind":"RouteTable","metadata":{"owner":"o","name":"n","uid":"u","generation":1,)"
      R"("revision":1,"colour":"red"},"spec":{"clusterCIDRs":["10.0.0.0/8"],"routes":[],"x":1},)"
      R"("status":{"routes":[{"destination":"10.1.0.0/16","state":"resting"}]}})");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->status.routes.size(), 1);
  EXPECT_EQ(read->status.routes[0].state, RouteState::pending);
}

TEST(route_table, that_is_none_is_lost) {
  const std::string head =
      R"({"kind":"RouteTable","metadata":{"owner":"o","name":"n","uid":"u","generation":1,)"
      R"("revision":1},)";
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string(R"({"kind":"TargetSet"})"),
        head + R"("spec":{"routes":[]},"status":{}})",
        head + R"("spec":{"clusterCIDRs":["10.0.0.1/8"],"routes":[]},"status":{}})",
        head + R"("spec":{"clusterCIDRs":[],"routes":[{"instance":"vm-1"}]},"status":{}})",
        head + R"("spec":{"clusterCIDRs":[],"routes":[]}})"}) {
    EXPECT_EQ(decode_route_table(text).outcome(), Outcome::lost) << text;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
