#include "isthmus/kube/api/names.h"

#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

const std::string kLetters63(63, 'a');
const std::string kLetters64(64, 'a');

TEST(label_key, accepts_qualified_names) {
  for (const std::string& key : std::initializer_list<std::string>{
           "a", "rack", "RACK_7.b-c", "node.kubernetes.io/instance-type", "1/2",
           "isthmus.dev/" + kLetters63, std::string(253, 'x') + "/a"}) {
    EXPECT_TRUE(check_label_key(key).has_value()) << key;
  }
}

TEST(label_key, refuses_everything_else) {
  for (const std::string& key : std::initializer_list<std::string>{
           "", "-a", "a-", ".a", "a b", "a/b/c", "/a", "a/", "A.b/c", "a..b/c", "a_b/c", "ä",
           kLetters64, std::string(254, 'x') + "/a", std::string("a\0b", 3)}) {
    EXPECT_EQ(check_label_key(key).outcome(), Outcome::invalid) << key;
  }
}

TEST(label_key, refusal_says_which_part_breaks_which_rule) {
  EXPECT_EQ(check_label_key("Example.com/rack").error().message,
            "key \"Example.com/rack\": the part before \"/\" must be a DNS name: at most 253 "
            "lower-case letters, digits, \"-\" and \".\", with a letter or digit at the ends and "
            "around every dot");
  EXPECT_EQ(check_label_key("example.com/").error().message,
            "key \"example.com/\": the part after \"/\" must be 1 to 63 letters, digits, \"-\", "
            "\"_\" or \".\", with a letter or digit at both ends");
}

TEST(label_value, may_be_empty_or_a_name) {
  for (const std::string& value :
       std::initializer_list<std::string>{"", "a", "7", "r640", "A.b_c-d", kLetters63}) {
    EXPECT_TRUE(check_label_value(value).has_value()) << value;
  }
  for (const std::string& value : std::initializer_list<std::string>{" ", "a b", "a/b", "-a", "a.",
                                                                     "naïve", kLetters64, "a\n"}) {
    EXPECT_EQ(check_label_value(value).outcome(), Outcome::invalid) << value;
  }
}

TEST(dns_subdomain, is_what_a_node_may_be_called) {
  for (const std::string& name : std::initializer_list<std::string>{
           "n", "node1", "node-1.rack-7.example", std::string(253, 'n')}) {
    EXPECT_TRUE(check_dns_subdomain(name).has_value()) << name;
  }
  for (const std::string& name : std::initializer_list<std::string>{
           "", "Node1", "node_1", "-n", "n-", "n..m", ".n", "n.", std::string(254, 'n'), "a/b"}) {
    EXPECT_EQ(check_dns_subdomain(name).outcome(), Outcome::invalid) << name;
  }
}

}  // namespace
}  // namespace isthmus::kube
