#include "isthmus/base/ip.h"

#include <gtest/gtest.h>

namespace isthmus {
namespace {

TEST(ip, addresses_are_read_and_written) {
  for (const char* text : {"192.0.2.1", "0.0.0.0", "2001:db8::1", "::"}) {
    EXPECT_EQ(to_string(parse_ip(text).value()), text);
  }
  EXPECT_EQ(parse_ip("10.0.0.1")->size(), 4u);
  EXPECT_EQ(parse_ip("2001:DB8:0::1"), parse_ip("2001:db8::1"));
}

TEST(ip, what_is_no_address_is_refused) {
  for (std::string_view text : {"", "192.0.2", "192.0.2.256", "192.0.2.1 ", "::ffff:192.0.2.1",
                                "fe80::1%eth0", "192.0.2.1/32"}) {
    EXPECT_EQ(parse_ip(text).outcome(), Outcome::invalid) << text;
  }
  EXPECT_EQ(parse_ip(std::string_view("192.0.2.1\0x", 11)).outcome(), Outcome::invalid);
}

TEST(ip, a_prefix_knows_its_first_and_last_address) {
  IpPrefix prefix = parse_prefix("192.0.2.64/27").value();
  EXPECT_EQ(to_string(prefix), "192.0.2.64/27");
  EXPECT_EQ(to_string(prefix.last()), "192.0.2.95");
  EXPECT_TRUE(prefix.contains(*parse_ip("192.0.2.95")));
  EXPECT_FALSE(prefix.contains(*parse_ip("192.0.2.96")));
  EXPECT_FALSE(prefix.contains(*parse_ip("2001:db8::1")));
  EXPECT_TRUE(prefix.contains(*parse_prefix("192.0.2.64/28")));
  EXPECT_FALSE(prefix.contains(*parse_prefix("192.0.2.0/24")));
  EXPECT_EQ(to_string(parse_prefix("2001:db8::/33")->last()),
            "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff");
  EXPECT_EQ(to_string(parse_prefix("0.0.0.0/0")->last()), "255.255.255.255");
}

TEST(ip, what_is_no_prefix_is_refused) {
  for (std::string_view text : {"192.0.2.0", "192.0.2.1/24", "192.0.2.0/33", "2001:db8::/129",
                                "192.0.2.0/", "192.0.2.0/-1", "192.0.2.0/24x", "/24"}) {
    EXPECT_EQ(parse_prefix(text).outcome(), Outcome::invalid) << text;
  }
}

TEST(ip, endpoints_are_written_as_in_urls) {
  EXPECT_EQ(to_string(Endpoint{*parse_ip("192.0.2.1"), 80}), "192.0.2.1:80");
  EXPECT_EQ(to_string(Endpoint{*parse_ip("2001:db8::1"), 443}), "[2001:db8::1]:443");
}

}  // namespace
}  // namespace isthmus
