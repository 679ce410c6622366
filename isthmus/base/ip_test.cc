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

TEST(ip, the_prefix_around_an_address_has_nothing_behind_it) {
  EXPECT_EQ(prefix_around(*parse_ip("192.0.2.77"), 27), *parse_prefix("192.0.2.64/27"));
  EXPECT_EQ(prefix_around(*parse_ip("192.0.2.77"), 32), *parse_prefix("192.0.2.77/32"));
  EXPECT_EQ(prefix_around(*parse_ip("2001:db8:ffff::1"), 33), *parse_prefix("2001:db8:8000::/33"));
  EXPECT_EQ(prefix_around(*parse_ip("2001:db8::1"), 0), *parse_prefix("::/0"));
}

TEST(ip, families_have_the_words_that_people_use) {
  EXPECT_EQ(to_string(IpFamily::v4), "IPv4");
  EXPECT_EQ(to_string(IpFamily::v6), "IPv6");
}

TEST(ip, what_no_machine_can_have_is_called_what_it_is) {
  for (std::string_view text : {"10.0.0.1", "223.255.255.255", "fd00::1", "::2", "fe80::1"}) {
    EXPECT_EQ(kind_of_nobody(*parse_ip(text)), std::nullopt) << text;
  }
  EXPECT_EQ(kind_of_nobody(*parse_ip("0.0.0.1")), "an unspecified address");
  EXPECT_EQ(kind_of_nobody(*parse_ip("::")), "an unspecified address");
  EXPECT_EQ(kind_of_nobody(*parse_ip("127.1.2.3")), "a loopback address");
  EXPECT_EQ(kind_of_nobody(*parse_ip("::1")), "a loopback address");
  EXPECT_EQ(kind_of_nobody(*parse_ip("239.0.0.1")), "a multicast address");
  EXPECT_EQ(kind_of_nobody(*parse_ip("ff02::1")), "a multicast address");
  EXPECT_EQ(kind_of_nobody(*parse_ip("255.255.255.255")), "a broadcast or reserved address");
}

TEST(ip, link_local_addresses_are_those_of_one_link) {
  for (std::string_view text : {"169.254.0.0", "169.254.255.255", "fe80::1", "febf::1"}) {
    EXPECT_TRUE(is_link_local(*parse_ip(text))) << text;
  }
  for (std::string_view text : {"169.253.0.1", "169.255.0.1", "fec0::1", "fd80::1"}) {
    EXPECT_FALSE(is_link_local(*parse_ip(text))) << text;
  }
}

TEST(ip, endpoints_are_written_as_in_urls) {
  EXPECT_EQ(to_string(Endpoint{*parse_ip("192.0.2.1"), 80}), "192.0.2.1:80");
  EXPECT_EQ(to_string(Endpoint{*parse_ip("2001:db8::1"), 443}), "[2001:db8::1]:443");
}

}  // namespace
}  // namespace isthmus
