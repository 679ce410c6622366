#include "isthmus/infra/target_check.h"

#include <gtest/gtest.h>

#include "isthmus/infra/ledger_testing.h"

namespace isthmus::infra {
namespace {

class target_check : public testing::Test {
 protected:
  target_check() { ledger.add_pool("public", {"192.0.2.0/28", "2001:db8::/120"}); }

  // "POINTER: what is wrong with it" for each.
  std::string wrong(const std::optional<api::Problem>& problem) {
    if (!problem) return "";
    EXPECT_EQ(problem->suffix(), api::problem::invalid_spec);
    std::string text;
    for (const api::FieldError& error : problem->errors) {
      text += fmt::format("{}: {}\n", error.pointer, error.detail);
    }
    return text;
  }
  std::string with_target(std::string_view address) {
    api::LoadBalancer said = a_balancer(kWeb);
    said.spec.target_groups[0].targets.push_back({.address = ip(address), .port = 80});
    return wrong(target_failure(ledger.snapshot, said, circumstances()));
  }
  Circumstances circumstances() {
    Circumstances of_ledger = ledger.circumstances();
    of_ledger.forwards = forwards;
    return of_ledger;
  }

  TestLedger ledger;
  bool forwards = true;
};

TEST_F(target_check, what_is_in_a_pool_is_no_target_and_a_machine_there_is_the_pools_mistake) {
  EXPECT_EQ(with_target("192.0.2.15"),
            "/spec/targetGroups/0/targets/1/address: 192.0.2.15 cannot be a target: it is for load "
            "balancers, in 192.0.2.0/28 of pool public; if a machine has it, the pool must be "
            "without it\n");
  EXPECT_NE(with_target("2001:db8::1"), "");
  EXPECT_EQ(with_target("192.0.2.16"), "");
}

TEST_F(target_check, every_target_of_a_set_is_told_at_its_address) {
  api::TargetSet set = a_set({"prod", "nodes"}, {"10.0.0.1", "192.0.2.3"});
  set.targets[0].addresses.push_back(ip("2001:db8::7"));
  const std::string text = wrong(target_failure(ledger.snapshot, set, circumstances()));
  EXPECT_NE(text.find("/spec/targets/0/addresses/1: 2001:db8::7 cannot"), std::string::npos);
  EXPECT_NE(text.find("/spec/targets/1/addresses/0: 192.0.2.3 cannot"), std::string::npos);
}

TEST_F(target_check, a_pool_that_was_removed_forbids_nothing_but_what_is_still_held) {
  ledger.put(kWeb, balancer_spec());
  PoolRecord removed = *ledger.snapshot.pool("public");
  removed.removed = true;
  ledger.snapshot.pools["public"] = std::make_shared<const PoolRecord>(std::move(removed));
  EXPECT_EQ(with_target("192.0.2.0"),
            "/spec/targetGroups/0/targets/1/address: 192.0.2.0 cannot be a target: a load balancer "
            "holds it\n");
  EXPECT_EQ(with_target("192.0.2.1"), "");
}

TEST_F(target_check, the_hosts_own_addresses_are_no_targets_unless_somebody_else_forwards) {
  ledger.unusable = {{ip("10.0.0.9"), "this host has it itself, on eth0"}};
  EXPECT_EQ(with_target("10.0.0.9"),
            "/spec/targetGroups/0/targets/1/address: 10.0.0.9 cannot be a target: this host has it "
            "itself, on eth0\n");
  forwards = false;
  EXPECT_EQ(with_target("10.0.0.9"), "");
}

}  // namespace
}  // namespace isthmus::infra
