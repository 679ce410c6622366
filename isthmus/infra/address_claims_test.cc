#include "isthmus/infra/address_claims.h"

#include <gtest/gtest.h>

#include "isthmus/infra/balancer_codec.h"
#include "isthmus/infra/ledger_testing.h"

namespace isthmus::infra {
namespace {

// Who has what there, in a network with a pool over all of it.
class address_claims : public testing::Test {
 protected:
  address_claims() { ledger.add_pool("flat", {"10.0.0.0/30"}); }

  void target(const ObjectName& name, const std::string& address) {
    BalancerRecord record;
    record.metadata = a_balancer(name).metadata;
    record.spec = a_balancer(name).spec;
    record.spec.target_groups[0].targets[0].address = ip(address);
    ledger.snapshot.balancers[name] = std::make_shared<const BalancerRecord>(std::move(record));
  }
  void machine(const std::string& name, const std::string& address,
               api::State state = api::State::active) {
    InstanceRecord record;
    record.instance.uid = "uid-" + name;
    record.instance.name = name;
    record.instance.addresses = {{api::AddressType::hostname, name},
                                 {api::AddressType::internal_ip, address}};
    record.instance.state = state;
    ledger.machines.records[name] = std::make_shared<const InstanceRecord>(std::move(record));
  }
  std::string put(const std::string& name) { return ledger.put({"prod", name}, balancer_spec()); }

  TestLedger ledger;
};

TEST_F(address_claims, a_machine_keeps_its_address_whether_it_answers_or_not) {
  machine("node0", "10.0.0.0");
  machine("node2", "10.0.0.2");
  machine("gone", "10.0.0.3", api::State::retired);
  EXPECT_EQ(put("a"), "10.0.0.1");
  EXPECT_EQ(put("b"), "10.0.0.3");
  EXPECT_EQ(put("c"),
            "pool-exhausted: pool flat has no free IPv4 address: 2 held (by prod/a, prod/b), 2 of "
            "machines or targets: add a range to the pool, or delete what is not needed any more");
  EXPECT_EQ(ledger.put(kWeb, asking_for({"10.0.0.2"})),
            "address-in-use: 10.0.0.2 is the address of machine node2: ask for another address");
  EXPECT_EQ(ledger.last_problem.status, 409);
}

TEST_F(address_claims, a_target_of_anybody_is_no_address_of_a_load_balancer) {
  target({"other", "web"}, "10.0.0.0");
  TargetSetRecord set{.set = a_set({"prod", "nodes"}, {"10.0.0.1", "10.0.0.7"}), .deleted_at = {}};
  ledger.snapshot.target_sets[{"prod", "nodes"}] =
      std::make_shared<const TargetSetRecord>(std::move(set));
  EXPECT_EQ(put("a"), "10.0.0.2");
  EXPECT_EQ(ledger.put(kWeb, asking_for({"10.0.0.0", "10.0.0.1"})),
            "address-in-use: 10.0.0.0 is a target of other/web: ask for another address; 10.0.0.1 "
            "is in target set prod/nodes: ask for another address");
}

TEST_F(address_claims, what_was_free_again_is_not_when_somebody_has_it_by_now) {
  put("a");
  ledger.remove({"prod", "a"});
  machine("node0", "10.0.0.0");
  EXPECT_EQ(put("a"), "10.0.0.1");
  ledger.now += std::chrono::hours(1);
  EXPECT_EQ(put("b"), "10.0.0.2");
  EXPECT_EQ(put("c"), "10.0.0.3");
  EXPECT_TRUE(put("d").starts_with("pool-exhausted"));
}

TEST_F(address_claims, whoever_holds_an_address_keeps_it_whoever_else_has_it) {
  api::LoadBalancerSpec shared = asking_for({"10.0.0.0"});
  shared.sharing_key = "both";
  EXPECT_EQ(ledger.put(kWeb, shared), "10.0.0.0");
  machine("node0", "10.0.0.0");
  target({"other", "web"}, "10.0.0.0");
  EXPECT_EQ(ledger.put(kWeb, shared), "10.0.0.0");
  shared.addresses.clear();
  EXPECT_EQ(ledger.put(kWeb, shared), "10.0.0.0");
  shared.listeners[0].port = 81;
  EXPECT_EQ(ledger.put({"prod", "more"}, shared), "10.0.0.0");
}

TEST_F(address_claims, targets_are_found_wherever_others_of_the_same_load_balancer_lie) {
  auto read_from_store = [&](const ObjectName& name) {
    BalancerRecord record = *ledger.snapshot.balancer(name);
    record.metadata.uid = "7c9e";
    record = decode_balancer_record(encode(record), 1).value();
    ledger.snapshot.balancers[name] = std::make_shared<const BalancerRecord>(std::move(record));
  };
  target({"other", "below"}, "9.255.255.255");
  target({"other", "above"}, "10.0.0.4");
  target({"other", "within"}, "10.0.0.1");
  target({"other", "around"}, "10.0.0.0");
  BalancerRecord around = *ledger.snapshot.balancer({"other", "around"});
  for (const char* address : {"9.0.0.0", "fd00::1"}) {
    around.spec.target_groups[0].targets.push_back({ip(address), 8080});
  }
  ledger.snapshot.balancers[{"other", "around"}] = std::make_shared<const BalancerRecord>(around);
  for (const char* name : {"below", "above", "within", "around"}) read_from_store({"other", name});
  EXPECT_EQ(put("a"), "10.0.0.2");
  EXPECT_EQ(put("b"), "10.0.0.3");
  EXPECT_TRUE(put("c").starts_with("pool-exhausted"));
}

TEST_F(address_claims, tombstones_claim_nothing) {
  target(kWeb, "10.0.0.0");
  BalancerRecord record = *ledger.snapshot.balancer(kWeb);
  record.deleted_at = ledger.now;
  ledger.snapshot.balancers[kWeb] = std::make_shared<const BalancerRecord>(std::move(record));
  EXPECT_EQ(put("a"), "10.0.0.0");
}

}  // namespace
}  // namespace isthmus::infra
