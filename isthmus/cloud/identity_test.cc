#include "isthmus/cloud/identity.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

TEST(identity, knows_a_uuid_in_either_case_and_byte_order) {
  const std::string key = uuid_key("00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(uuid_key("00112233-4455-6677-8899-AABBCCDDEEFF"), key);
  EXPECT_EQ(uuid_key("33221100-5544-7766-8899-aabbccddeeff"), key);
  EXPECT_EQ(uuid_key("33221100554477668899AABBCCDDEEFF"), key);
  EXPECT_NE(uuid_key("33221100-5544-7766-9988-aabbccddeeff"), key);
  EXPECT_NE(uuid_key("00112233-4455-6677-8899-aabbccddeefe"), key);
}

TEST(identity, knows_a_uuid_with_dashes_or_without) {
  EXPECT_EQ(uuid_key("3d1219c7c4c54d2ea1b0c3d4e5f60718"),
            uuid_key("3D1219C7-c4c5-4d2e-a1b0-c3d4e5f60718"));
  EXPECT_NE(uuid_key("3d1219c7c4c54d2ea1b0c3d4e5f60719"),
            uuid_key("3d1219c7-c4c5-4d2e-a1b0-c3d4e5f60718"));
  EXPECT_NE(uuid_key("a-b"), uuid_key("ab")) << "no UUID is its own key";
  EXPECT_EQ(uuid_key(""), "");
}

TEST(identity, compares_addresses_as_addresses) {
  EXPECT_EQ(ip_key("2001:db8::1"), ip_key("2001:0db8:0:0::0001"));
  EXPECT_EQ(ip_key("::ffff:10.0.0.1"), ip_key("10.0.0.1"));
  EXPECT_NE(ip_key("10.0.0.1"), ip_key("10.0.0.11"));
  EXPECT_EQ(ip_key("not an address"), "not an address");
}

TEST(identity, does_not_match_what_neither_side_knows) {
  const Instance nameless{.provider_id = {"fake", "m1"}};
  EXPECT_FALSE(matches(nameless, {.system_uuid = "00112233-4455-6677-8899-aabbccddeeff"}));
  EXPECT_FALSE(matches(nameless, {.name = "node1"}));
  EXPECT_TRUE(matches(nameless, {}));
}

}  // namespace
}  // namespace isthmus::cloud
