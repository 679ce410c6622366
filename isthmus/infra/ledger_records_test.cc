#include "isthmus/infra/ledger_records.h"

#include <gtest/gtest.h>

#include "isthmus/infra/ledger_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

AddressRecord an_address() {
  AddressRecord record;
  record.address = ip("2001:db8::1");
  record.pool = "public";
  record.owner = "prod";
  record.holders = {"api", "web"};
  record.last_holder = "web";
  record.sharing_key = "edge";
  record.host = "lb1";
  record.epoch = 7;
  record.free_at = at_second(5) + 1ms;
  record.revision = 42;
  return record;
}

TEST(ledger_records, keys_name_what_lies_under_them) {
  EXPECT_EQ(key_of(kBalancerPrefix, kWeb), "loadbalancers/prod/web");
  EXPECT_EQ(key_of(kStatusPrefix, kWeb), "loadbalancer-status/prod/web");
  EXPECT_EQ(pool_key("public"), "pools/public");
  EXPECT_EQ(address_key(ip("192.0.2.1")), "addresses/192.0.2.1");
}

TEST(ledger_records, an_address_is_read_back) {
  AddressRecord record = an_address();
  EXPECT_EQ(decode_address_record(encode(record), 42).value(), record);
  AddressRecord bare;
  bare.address = ip("192.0.2.1");
  bare.owner = "prod";
  EXPECT_EQ(decode_address_record(encode(bare), 0).value(), bare);
}

TEST(ledger_records, a_target_set_is_read_back) {
  TargetSetRecord record;
  record.set = a_set({"prod", "nodes"}, {"10.0.0.1", "10.0.0.2"});
  record.set.metadata.uid = "7c9e";
  record.set.metadata.generation = 3;
  record.set.metadata.revision = 42;
  record.set.targets[0].addresses.push_back(ip("fd00::1"));
  record.set.targets[1].weight = 0;
  record.set.targets[1].drain = true;
  record.deleted_at = at_second(1);
  EXPECT_EQ(decode_target_set_record(encode(record), 42).value(), record);
}

TEST(ledger_records, a_pool_is_read_back) {
  PoolRecord record{.pool = a_pool("public", {"192.0.2.0/28", "2001:db8::/120"}), .removed = true};
  record.pool.interface = "eth0";
  record.pool.cool_down = 90s;
  record.pool.auto_assign = false;
  record.pool.source_address = api::SourceAddress::keep;
  record.pool.revision = 42;
  EXPECT_EQ(decode_pool_record(encode(record), 42).value(), record);
}

TEST(ledger_records, damage_is_lost_and_never_something_else) {
  for (std::string_view value : {"", "{", "[]", "{}", "null", R"({"address": "192.0.2.1"})"}) {
    EXPECT_EQ(decode_address_record(value, 1).outcome(), Outcome::lost) << value;
    EXPECT_EQ(decode_target_set_record(value, 1).outcome(), Outcome::lost) << value;
    EXPECT_EQ(decode_pool_record(value, 1).outcome(), Outcome::lost) << value;
  }
}

TEST(ledger_records, what_a_newer_version_added_is_refused_because_a_write_would_drop_it) {
  std::string value = encode(an_address());
  value.insert(1, R"("future": 1, )");
  Result<AddressRecord> read = decode_address_record(value, 1);
  EXPECT_EQ(read.outcome(), Outcome::lost);
  EXPECT_NE(read.error().message.find("newer version"), std::string::npos) << read.error().message;
}

class ledger_snapshot : public testing::Test {
 protected:
  void add(const api::LoadBalancer& said, std::optional<WallTime> deleted_at = std::nullopt) {
    BalancerRecord record{said.metadata, said.spec, {}, deleted_at};
    snapshot.balancers[{said.metadata.owner, said.metadata.name}] =
        std::make_shared<const BalancerRecord>(std::move(record));
  }

  LedgerSnapshot snapshot;
};

TEST_F(ledger_snapshot, tombstones_and_removed_pools_are_not_there) {
  add(a_balancer(kWeb), at_second(0));
  add(a_balancer({"prod", "api"}));
  EXPECT_EQ(snapshot.balancer(kWeb), nullptr);
  EXPECT_NE(snapshot.balancer({"prod", "api"}), nullptr);

  TargetSetRecord set{.set = a_set({"prod", "nodes"}), .deleted_at = at_second(0)};
  snapshot.target_sets[{"prod", "nodes"}] = std::make_shared<const TargetSetRecord>(set);
  EXPECT_EQ(snapshot.target_set({"prod", "nodes"}), nullptr);

  PoolRecord pool{.pool = a_pool("public", {"192.0.2.0/28"}), .removed = true};
  snapshot.pools["public"] = std::make_shared<const PoolRecord>(pool);
  EXPECT_EQ(snapshot.pool("public"), nullptr);
  EXPECT_EQ(snapshot.address(ip("192.0.2.1")), nullptr);
  EXPECT_EQ(snapshot.status(kWeb), nullptr);
}

TEST_F(ledger_snapshot, users_of_a_set_are_of_its_owner_and_stand) {
  add(a_balancer_of_set({"prod", "b"}, "nodes"));
  add(a_balancer_of_set({"prod", "a"}, "nodes"));
  add(a_balancer_of_set({"prod", "gone"}, "nodes"), at_second(0));
  add(a_balancer_of_set({"test", "c"}, "nodes"));
  add(a_balancer({"prod", "inline"}));
  EXPECT_EQ(snapshot.users_of({"prod", "nodes"}),
            (std::vector<ObjectName>{{"prod", "a"}, {"prod", "b"}}));
  EXPECT_TRUE(snapshot.users_of({"prod", "other"}).empty());
}

}  // namespace
}  // namespace isthmus::infra
