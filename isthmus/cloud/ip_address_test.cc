#include "isthmus/cloud/ip_address.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

TEST(ip_address, is_the_same_in_every_spelling) {
  EXPECT_EQ(read_ip("2001:db8::1"), read_ip("2001:0DB8:0:0::0001"));
  EXPECT_EQ(read_ip("::ffff:10.0.0.1"), read_ip("10.0.0.1"));
  EXPECT_EQ(read_ip("10.0.0.1")->family, IpFamily::v4);
  EXPECT_EQ(read_ip("::1")->family, IpFamily::v6);
  EXPECT_NE(read_ip("::"), read_ip("0.0.0.0"));
}

TEST(ip_address, refuses_what_is_not_exactly_one_address) {
  for (const std::string_view text : {"", " 10.0.0.1", "10.0.0.1/32", "10.0.0", "010.0.0.1",
                                      "fe80::1%eth0", "[::1]", "1::2::3"}) {
    EXPECT_FALSE(read_ip(text)) << text;
  }
  EXPECT_FALSE(read_ip(std::string_view("10.0.0.1\0x", 10)));
  EXPECT_TRUE(is_unspecified(*read_ip("0.0.0.0")));
  EXPECT_TRUE(is_unspecified(*read_ip("::")));
}

}  // namespace
}  // namespace isthmus::cloud
