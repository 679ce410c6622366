#include "isthmus/cloud/identity.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

TEST(identity, knows_a_uuid_in_either_case_and_byte_order) {
  const std::string key = uuid_key("00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(uuid_key("00112233-4455-6677-8899-AABBCCDDEEFF"), key);
  EXPECT_EQ(uuid_key("33221100-5544-7766-8899-aabbccddeeff"), key);
  EXPECT_NE(uuid_key("33221100-5544-7766-9988-aabbccddeeff"), key);
  EXPECT_NE(uuid_key("00112233-4455-6677-8899-aabbccddeefe"), key);
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
