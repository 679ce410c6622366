#include "isthmus/infra/api/rules.h"

#include <gtest/gtest.h>

namespace isthmus::infra::api {
namespace {

TEST(rules, a_uid_is_what_a_provider_id_can_carry) {
  for (std::string_view uid : {"a", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "SN_123.4"}) {
    EXPECT_FALSE(wrong_uid(uid)) << uid;
  }
  for (std::string_view uid : {"", "-a", "a-", "a/b", "a b", "ä", "a\n", "a?b"}) {
    EXPECT_TRUE(wrong_uid(uid)) << uid;
  }
  EXPECT_FALSE(wrong_uid(std::string(63, 'a')));
  EXPECT_TRUE(wrong_uid(std::string(64, 'a')));
}

TEST(rules, a_name_is_one_a_node_can_have) {
  for (std::string_view name : {"n", "node1", "node-1.rack.home"}) {
    EXPECT_FALSE(wrong_name(name)) << name;
  }
  for (std::string_view name : {"", "Node1", "node_1", ".a", "a.", "a..b", "-a", "a-"}) {
    EXPECT_TRUE(wrong_name(name)) << name;
  }
}

TEST(rules, labels_follow_kubernetes) {
  for (std::string_view key : {"rack", "isthmus.dev/rack", "a/B_c.d"}) {
    EXPECT_FALSE(wrong_label_key(key)) << key;
  }
  for (std::string_view key : {"", "/rack", "a/", "a/b/c", "Rack.io/a", "a b"}) {
    EXPECT_TRUE(wrong_label_key(key)) << key;
  }
  EXPECT_FALSE(wrong_label_value(""));
  EXPECT_FALSE(wrong_label_value("u12"));
  EXPECT_TRUE(wrong_label_value("u 12"));
  EXPECT_TRUE(wrong_label_value(std::string(64, 'v')));
}

TEST(rules, a_system_uuid_may_be_written_in_either_case_and_without_dashes) {
  EXPECT_FALSE(wrong_system_uuid("4C4C4544-0042-4A10-8056-b4c04f4d5a32"));
  EXPECT_FALSE(wrong_system_uuid("4C4C454400424a108056b4c04f4d5a32"));
  EXPECT_EQ(canonical_system_uuid("4C4C454400424a108056b4c04f4d5a32"),
            "4c4c4544-0042-4a10-8056-b4c04f4d5a32");
  EXPECT_EQ(canonical_system_uuid("4C4C4544-0042-4A10-8056-b4c04f4d5a32"),
            "4c4c4544-0042-4a10-8056-b4c04f4d5a32");
  EXPECT_EQ(canonical_system_uuid(""), "");
  EXPECT_TRUE(wrong_system_uuid("4C4C454400424a108056b4c04f4d5a3"));
  EXPECT_TRUE(wrong_system_uuid("4C4C454400424a108056b4c04f4d5a3g"));
  EXPECT_TRUE(wrong_system_uuid("4C4C4544-00424a10-8056-b4c04f4d5a32"));
  EXPECT_TRUE(wrong_system_uuid("4C4C-4544-0042-4a10-8056b4c04f4d5a3"));
  EXPECT_TRUE(wrong_system_uuid("4C4C4544-0042-4A10-8056-b4c04f4d5a3g"));
  EXPECT_EQ(lower_case("4C4C-ä"), "4c4c-ä");
}

TEST(rules, addresses_compare_in_one_form) {
  EXPECT_EQ(canonical_ip("10.0.0.11"), "10.0.0.11");
  EXPECT_EQ(canonical_ip("2001:DB8:0::0:1"), "2001:db8::1");
}

TEST(rules, what_no_machine_can_have_is_no_address) {
  for (std::string_view text :
       {"", "10.0.0", "10.0.0.256", "10.0.0.011", "10.0.0.1/24", "0.0.0.0", "127.0.0.1",
        "127.8.8.8", "::1", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "::ffff:10.0.0.1",
        "fe80::1%eth0", "node1", " 10.0.0.1"}) {
    EXPECT_FALSE(canonical_ip(text)) << text;
    EXPECT_TRUE(wrong_ip(text)) << text;
  }
  EXPECT_EQ(wrong_ip("10.0.0.256"), "expected an IP address");
  EXPECT_EQ(wrong_ip("::1"),
            "expected an IP address that one machine can have, not a loopback address");
  EXPECT_EQ(wrong_ip("239.1.1.1"),
            "expected an IP address that one machine can have, not a multicast address");
  EXPECT_FALSE(wrong_ip("10.0.0.11"));
  EXPECT_FALSE(canonical_ip(std::string_view("10.0.0.1\0x", 10)));
}

TEST(rules, names_of_objects_are_dns_labels) {
  for (std::string_view right : {"a", "0", "web-1"}) {
    EXPECT_FALSE(wrong_object_name(right)) << right;
  }
  EXPECT_FALSE(wrong_object_name(std::string(63, 'a')));
  for (std::string_view wrong :
       {"", "A", "a.b", "-a", "a-", "a_b", "../a", "a/b", "a b", "\xc3\xa4", "a\n", "%61"}) {
    EXPECT_TRUE(wrong_object_name(wrong)) << wrong;
  }
  EXPECT_TRUE(wrong_object_name(std::string(64, 'a')));
  EXPECT_TRUE(wrong_object_name(std::string_view("a\0b", 3)));
}

TEST(rules, addresses_others_reach_are_not_link_local) {
  EXPECT_FALSE(wrong_reachable_ip("192.0.2.1"));
  EXPECT_FALSE(wrong_reachable_ip("fec0::1"));
  EXPECT_FALSE(wrong_reachable_ip("169.253.169.254"));
  for (std::string_view wrong : {"fe80::1", "febf::1", "169.254.169.254", "169.254.0.0",
                                 "127.0.0.1", "::ffff:192.0.2.1", ""}) {
    EXPECT_TRUE(wrong_reachable_ip(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
