#include "isthmus/infra/ledger_upkeep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isthmus/infra/balancer_codec.h"
#include "isthmus/infra/ledger_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

class ledger_upkeep : public testing::Test {
 protected:
  ledger_upkeep() { ledger.add_pool("public", {"192.0.2.0/28"}); }

  std::string put(const ObjectName& name, std::string sharing_key = "", std::uint16_t port = 80) {
    api::LoadBalancerSpec spec = balancer_spec({port});
    spec.sharing_key = std::move(sharing_key);
    return ledger.put(name, spec);
  }
  std::vector<Write> finalize(const std::vector<ObjectName>& names) {
    return plan_finalize(ledger.snapshot, names, ledger.circumstances());
  }
  // The keys that are deleted; addresses that are written are so in the snapshot then.
  std::vector<std::string> forgotten() {
    std::vector<std::string> keys;
    std::vector<AddressRecord> written;
    for (const Write& write : plan_forget(ledger.snapshot, ledger.now)) {
      if (write.value) {
        written.push_back(decode_address_record(*write.value, 1).value());
      } else {
        keys.push_back(write.key);
      }
    }
    ledger.commit(written);
    return keys;
  }
  void add_status(const ObjectName& name) {
    ledger.snapshot.statuses[name] = std::make_shared<const StatusRecord>();
  }
  std::vector<std::string> load(const std::vector<api::Pool>& pools) {
    mistakes = {};
    std::vector<std::string> names;
    for (const PoolRecord& record : plan_pools(ledger.snapshot, pools, mistakes)) {
      names.push_back((record.removed ? "-" : "+") + record.pool.name);
    }
    return names;
  }

  TestLedger ledger;
  Mistakes mistakes;
};

TEST_F(ledger_upkeep, what_leaves_becomes_a_tombstone_and_lets_its_address_go) {
  put(kWeb);
  ledger.leave(kWeb);
  add_status(kWeb);
  std::vector<Write> writes = finalize({kWeb});
  ASSERT_EQ(writes.size(), 3u);
  EXPECT_EQ(writes[0].key, "addresses/192.0.2.0");
  AddressRecord address = decode_address_record(*writes[0].value, 1).value();
  EXPECT_TRUE(address.is_cooling(ledger.now));
  EXPECT_EQ(address.last_holder, "web");
  EXPECT_EQ(writes[1].key, "loadbalancer-status/prod/web");
  EXPECT_FALSE(writes[1].value);
  EXPECT_EQ(writes[2].key, "loadbalancers/prod/web");
}

TEST_F(ledger_upkeep, what_does_not_leave_is_not_finalized) {
  put(kWeb);
  EXPECT_TRUE(finalize({kWeb, {"prod", "unknown"}}).empty());
  ledger.remove(kWeb);
  EXPECT_TRUE(finalize({kWeb}).empty());
}

TEST_F(ledger_upkeep, two_that_share_an_address_may_leave_as_one) {
  const ObjectName other{"prod", "api"};
  EXPECT_EQ(put(kWeb, "edge", 80), "192.0.2.0");
  EXPECT_EQ(put(other, "edge", 81), "192.0.2.0");
  ledger.leave(kWeb);
  ledger.leave(other);
  std::vector<Write> writes = finalize({kWeb, other});
  auto address = std::ranges::find(writes, "addresses/192.0.2.0", &Write::key);
  ASSERT_NE(address, writes.end());
  EXPECT_EQ(std::ranges::count(writes, "addresses/192.0.2.0", &Write::key), 1);
  EXPECT_TRUE(decode_address_record(*address->value, 1).value().holders.empty());
}

TEST_F(ledger_upkeep, an_address_that_has_cooled_down_is_told_as_free_and_then_forgotten) {
  put(kWeb);
  put({"prod", "stays"});
  ledger.remove(kWeb);
  const Revision revision = ledger.record("192.0.2.0").revision;
  ledger.now += 5min - 1s;
  EXPECT_TRUE(forgotten().empty());
  EXPECT_EQ(ledger.record("192.0.2.0").revision, revision);
  ledger.now += 1s;
  EXPECT_TRUE(forgotten().empty());
  EXPECT_GT(ledger.record("192.0.2.0").revision, revision);
  EXPECT_EQ(ledger.record("192.0.2.0").last_holder, "");
  EXPECT_EQ(ledger.record("192.0.2.0").owner, "prod");
  ledger.now += kFreeAge - 1s;
  EXPECT_TRUE(forgotten().empty());
  ledger.now += 1s;
  EXPECT_EQ(forgotten(), std::vector<std::string>{"addresses/192.0.2.0"});
}

TEST_F(ledger_upkeep, the_next_time_to_forget_is_when_the_next_cool_down_ends) {
  auto until = [&] { return until_forgetting(ledger.snapshot, ledger.now); };
  put(kWeb);
  EXPECT_EQ(until(), kForgetPeriod);
  ledger.remove(kWeb);
  EXPECT_EQ(until(), kForgetPeriod);
  ledger.now += 5min - 20s;
  EXPECT_EQ(until(), 20s);
  ledger.now += 20s;
  EXPECT_EQ(until(), kForgetPauseMin);
  forgotten();
  EXPECT_EQ(until(), kForgetPeriod) << "that it is free was told";

  PoolRecord quick = *ledger.snapshot.pool("public");
  quick.pool.cool_down = 2s;
  ledger.snapshot.pools["public"] = std::make_shared<const PoolRecord>(std::move(quick));
  EXPECT_EQ(until(), 2s) << "a cool-down that begins now ends then";
}

TEST_F(ledger_upkeep, an_address_cools_down_no_longer_than_its_pool_says_when_the_clock_went_back) {
  put(kWeb);
  ledger.remove(kWeb);
  ledger.now -= 24h * 3650;
  EXPECT_TRUE(forgotten().empty());
  EXPECT_EQ(ledger.record("192.0.2.0").free_at, ledger.now + 5min);
  EXPECT_EQ(ledger.record("192.0.2.0").last_holder, "web");
}

TEST_F(ledger_upkeep, a_tombstone_keeps_no_targets) {
  put(kWeb);
  BalancerRecord large = *ledger.snapshot.balancer(kWeb);
  large.spec.target_groups = a_balancer(kWeb).spec.target_groups;
  ledger.snapshot.balancers[kWeb] = std::make_shared<const BalancerRecord>(std::move(large));
  ledger.leave(kWeb);
  const BalancerRecord tombstone =
      decode_balancer_record(*finalize({kWeb}).back().value, 1).value();
  EXPECT_TRUE(tombstone.is_tombstone());
  EXPECT_EQ(tombstone.spec.target_groups.size(), 1u);
  EXPECT_TRUE(tombstone.spec.target_groups[0].targets.empty());
}

TEST_F(ledger_upkeep, tombstones_and_lost_statuses_are_forgotten) {
  put(kWeb);
  ledger.remove(kWeb);
  ledger.forget();
  TargetSetRecord set{.set = a_set({"prod", "nodes"}), .deleted_at = ledger.now};
  ledger.snapshot.target_sets[{"prod", "nodes"}] = std::make_shared<const TargetSetRecord>(set);
  RouteTableRecord table{.deleted_at = ledger.now};
  ledger.snapshot.route_tables[{"prod", "pods"}] = std::make_shared<const RouteTableRecord>(table);
  ledger.snapshot.route_statuses[{"prod", "pods"}] = std::make_shared<const RouteStatusRecord>();
  put({"prod", "stays"});
  add_status(kWeb);
  add_status({"prod", "stays"});
  ledger.now += kTombstoneAge - 1s;
  ledger.forget();
  EXPECT_EQ(forgotten(), (std::vector<std::string>{"loadbalancer-status/prod/web",
                                                   "routetable-status/prod/pods"}));
  ledger.now += 1s;
  EXPECT_EQ(forgotten(),
            (std::vector<std::string>{"loadbalancers/prod/web", "routetables/prod/pods",
                                      "targetsets/prod/nodes", "loadbalancer-status/prod/web",
                                      "routetable-status/prod/pods"}));
}

TEST_F(ledger_upkeep, too_many_tombstones_go_before_their_time_the_oldest_first) {
  for (std::size_t i = 0; i < kTombstonesMax + 2; ++i) {
    TargetSetRecord set{.set = a_set({"prod", "nodes"}),
                        .deleted_at = ledger.now - Duration(static_cast<std::int64_t>(i))};
    ledger.snapshot.target_sets[{"prod", std::to_string(i)}] =
        std::make_shared<const TargetSetRecord>(set);
  }
  EXPECT_EQ(forgotten(),
            (std::vector<std::string>{"targetsets/prod/10001", "targetsets/prod/10000"}));
}

TEST_F(ledger_upkeep, pools_that_differ_are_written) {
  ledger.snapshot = {};
  EXPECT_EQ(load({a_pool("a", {"192.0.2.0/28"}), a_pool("b", {"2001:db8::/120"})}),
            (std::vector<std::string>{"+a", "+b"}));
  ledger.add_pool("a", {"192.0.2.0/28"});
  ledger.add_pool("b", {"2001:db8::/120"});
  EXPECT_TRUE(load({a_pool("b", {"2001:db8::/120"}), a_pool("a", {"192.0.2.0/28"})}).empty());
  EXPECT_EQ(load({a_pool("a", {"192.0.2.0/29"})}), (std::vector<std::string>{"+a", "-b"}));
  EXPECT_TRUE(mistakes.empty());
}

TEST_F(ledger_upkeep, ranges_that_overlap_and_doubled_names_are_refused) {
  load({a_pool("public", {"192.0.2.0/24", "198.51.100.0/24"}),
        a_pool("other", {"192.0.2.128/25", "203.0.113.0/24"}),
        a_pool("other", {"203.0.113.0/24"})});
  EXPECT_EQ(mistakes.text(),
            "pool other: is there twice\n"
            "pool other: 192.0.2.128/25 overlaps 192.0.2.0/24 of pool public\n"
            "pool other: 203.0.113.0/24 overlaps 203.0.113.0/24 of pool other");
}

TEST_F(ledger_upkeep, a_range_that_holds_addresses_does_not_go) {
  for (std::string_view name : {"a", "b", "c", "d"}) put({"prod", std::string(name)});
  load({a_pool("public", {"192.0.2.1/32"})});
  EXPECT_EQ(mistakes.text(),
            "pool public: its ranges no longer contain what is still held: 192.0.2.0 (prod/a), "
            "192.0.2.2 (prod/c), 192.0.2.3 (prod/d); delete the load balancers first");
  load({});
  EXPECT_NE(mistakes.text().find("and 1 more"), std::string::npos) << mistakes.text();
}

TEST_F(ledger_upkeep, a_range_whose_addresses_cool_down_may_go) {
  put(kWeb);
  ledger.remove(kWeb);
  EXPECT_EQ(load({}), std::vector<std::string>{"-public"});
  EXPECT_TRUE(mistakes.empty());
}

}  // namespace
}  // namespace isthmus::infra
