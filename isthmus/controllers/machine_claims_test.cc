#include "isthmus/controllers/machine_claims.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

struct machine_claims : testing::Test {
  void put(const std::string& name, const std::string& provider_id, int created_s = 0) {
    kube::Node node{
        .meta = {.key = {"", name}, .uid = name, .resource_version = std::to_string(++version)},
        .provider_id = provider_id};
    node.meta.creation_time = WallTime(std::chrono::seconds(created_s));
    nodes.apply({kube::ChangeKind::modified,
                 {node.meta.key, node.meta.uid, node.meta.resource_version, node}});
  }
  void erase(const std::string& name) {
    nodes.apply({kube::ChangeKind::deleted, {{"", name}, name, std::to_string(++version), {}}});
  }
  std::string holder(const std::string& id, const std::string& but) {
    return claims.holder(id, {"", but}).value_or("(nobody)");
  }

  int version = 0;
  kube::Store<kube::Node> nodes;
  MachineClaims claims{nodes};
};

TEST_F(machine_claims, know_who_holds_a_machine_by_the_store) {
  put("a", "x://1");
  EXPECT_EQ(holder("x://1", "b"), "a");
  EXPECT_EQ(holder("x://1", "a"), "(nobody)");
  EXPECT_EQ(holder("x://2", "b"), "(nobody)");
  put("b", "x://1");
  EXPECT_EQ(holder("x://1", "a"), "(nobody)") << "who names it later takes nothing away";
  EXPECT_EQ(holder("x://1", "b"), "a");
  erase("a");
  EXPECT_EQ(holder("x://1", "b"), "(nobody)");
  erase("b");
  EXPECT_EQ(holder("x://1", "c"), "(nobody)");
}

TEST_F(machine_claims, leave_a_machine_with_the_node_that_was_created_first) {
  put("b", "x://1", 1);
  put("a", "x://1", 2);
  EXPECT_EQ(holder("x://1", "a"), "b");
  EXPECT_EQ(holder("x://1", "b"), "(nobody)");
  put("b", "x://2", 1);
  EXPECT_EQ(holder("x://1", "a"), "(nobody)");
  EXPECT_EQ(holder("x://2", "a"), "b");
}

TEST_F(machine_claims, hold_a_machine_from_the_decision_to_its_echo) {
  put("a", "");
  claims.claim("x://1", {"", "a"});
  EXPECT_EQ(holder("x://1", "b"), "a");
  put("a", "");
  EXPECT_EQ(holder("x://1", "b"), "a");
  put("a", "x://1");
  EXPECT_EQ(holder("x://1", "b"), "a");
  erase("a");
  EXPECT_EQ(holder("x://1", "b"), "(nobody)");
}

TEST_F(machine_claims, end_when_the_node_is_gone_or_gives_up) {
  put("a", "");
  claims.claim("x://1", {"", "a"});
  erase("a");
  EXPECT_EQ(holder("x://1", "b"), "(nobody)");
  claims.claim("x://1", {"", "b"});
  claims.release({"", "b"});
  EXPECT_EQ(holder("x://1", "a"), "(nobody)");
}

TEST_F(machine_claims, move_with_a_node_that_wants_another_machine) {
  claims.claim("x://1", {"", "a"});
  claims.claim("x://2", {"", "a"});
  EXPECT_EQ(holder("x://1", "b"), "(nobody)");
  EXPECT_EQ(holder("x://2", "b"), "a");
}

}  // namespace
}  // namespace isthmus::controllers
