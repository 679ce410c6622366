#include "isthmus/infra/ledger_memory.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/balancer_codec.h"
#include "isthmus/infra/faulty_store_testing.h"
#include "isthmus/infra/ledger_testing.h"
#include "isthmus/infra/route_table_codec.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

class ledger_memory : public testing::Test {
 protected:
  void write(std::vector<Write> writes) {
    ASSERT_TRUE(world.run(store.commit({}, std::move(writes))));
  }
  Write balancer(const ObjectName& name, std::uint64_t generation = 1) {
    api::LoadBalancer said = a_balancer(name);
    BalancerRecord record{said.metadata, said.spec, {}, std::nullopt};
    record.metadata.uid = "7c9e";
    record.metadata.generation = generation;
    return {key_of(kBalancerPrefix, name), encode(record)};
  }
  Write status(const ObjectName& name, std::uint64_t repairs) {
    StatusRecord record;
    record.status.repairs = repairs;
    return {key_of(kStatusPrefix, name), encode(record)};
  }
  LedgerMemory::Snapshot latest() { return world.run(memory.latest()).value(); }

  VirtualWorld world;
  std::unique_ptr<Store> sqlite = open_sqlite_store(":memory:").value();
  FaultyStore store{*sqlite};
  LedgerMemory memory{store};
};

TEST_F(ledger_memory, a_new_store_is_empty) {
  EXPECT_EQ(memory.remembered(), nullptr);
  LedgerMemory::Snapshot snapshot = latest();
  EXPECT_EQ(snapshot->revision, 0u);
  EXPECT_TRUE(snapshot->balancers.empty());
  EXPECT_EQ(memory.remembered()->revision, 0u);
}

TEST_F(ledger_memory, every_kind_is_read_at_the_revision_it_was_written) {
  PoolRecord pool{.pool = a_pool("public", {"192.0.2.0/28"}), .removed = false};
  TargetSetRecord set{.set = a_set({"prod", "nodes"}), .deleted_at = std::nullopt};
  set.set.metadata.uid = "7c9e";
  AddressRecord address;
  address.address = ip("192.0.2.1");
  address.owner = "prod";
  RouteTableRecord table;
  table.metadata = {.owner = "prod", .name = "pods", .uid = "7c9f"};
  write({{"instances/a", "not ours"}});
  write({balancer(kWeb),
         status(kWeb, 3),
         {pool_key("public"), encode(pool)},
         {key_of(kTargetSetPrefix, {"prod", "nodes"}), encode(set)},
         {address_key(address.address), encode(address)},
         {key_of(kRouteTablePrefix, {"prod", "pods"}), encode(table)},
         {key_of(kRouteStatusPrefix, {"prod", "pods"}), encode(RouteStatusRecord{})},
         {std::string(kLedgerLock), ""}});
  for (bool again : {false, true}) {
    LedgerMemory::Snapshot snapshot = latest();
    EXPECT_EQ(snapshot->revision, again ? 3u : 2u);
    EXPECT_EQ(snapshot->lock, 2u);
    EXPECT_EQ(snapshot->balancer(kWeb)->metadata.revision, 2u);
    EXPECT_EQ(snapshot->status(kWeb)->status.repairs, 3u);
    EXPECT_EQ(snapshot->status(kWeb)->revision, 2u);
    EXPECT_EQ(snapshot->pool("public")->pool.revision, 2u);
    EXPECT_EQ(snapshot->target_set({"prod", "nodes"})->set.metadata.revision, 2u);
    EXPECT_EQ(snapshot->address(ip("192.0.2.1"))->revision, 2u);
    EXPECT_EQ(snapshot->route_table({"prod", "pods"})->metadata.revision, 2u);
    EXPECT_EQ(snapshot->route_status({"prod", "pods"})->revision, 2u);
    write({{"instances/a", "still not ours"}});
  }
}

TEST_F(ledger_memory, what_was_handed_out_stays_as_it_was_and_shares_what_did_not_change) {
  const ObjectName other{"prod", "api"};
  write({balancer(kWeb), balancer(other), status(kWeb, 1)});
  LedgerMemory::Snapshot before = latest();
  EXPECT_EQ(latest(), before);
  write({balancer(kWeb, 2), {key_of(kStatusPrefix, kWeb), std::nullopt}});
  LedgerMemory::Snapshot after = latest();
  EXPECT_EQ(before->balancer(kWeb)->metadata.generation, 1u);
  EXPECT_NE(before->status(kWeb), nullptr);
  EXPECT_EQ(after->balancer(kWeb)->metadata.generation, 2u);
  EXPECT_EQ(after->status(kWeb), nullptr);
  EXPECT_EQ(before->balancer(other), after->balancer(other));
  EXPECT_TRUE(before->pools.is_same_as(after->pools));
}

TEST_F(ledger_memory, many_records_are_read_page_by_page) {
  for (int batch = 0; batch < 6; ++batch) {
    std::vector<Write> writes;
    for (int i = 0; i < 100; ++i) {
      writes.push_back(balancer({"prod", "lb-" + std::to_string(batch * 100 + i)}));
    }
    write(std::move(writes));
  }
  EXPECT_EQ(latest()->balancers.size(), 600u);
}

TEST_F(ledger_memory, an_older_revision_is_read_once_for_all_pages_of_a_list) {
  write({balancer(kWeb)});
  write({balancer(kWeb, 2)});
  LedgerMemory::Snapshot then = world.run(memory.at(1)).value();
  EXPECT_EQ(then->balancer(kWeb)->metadata.generation, 1u);
  EXPECT_EQ(world.run(memory.at(1)).value(), then);
  EXPECT_EQ(world.run(memory.at(2)).value(), latest());
  EXPECT_EQ(world.run(memory.at(9)).outcome(), kRevisionGone);
}

TEST_F(ledger_memory, one_that_fell_behind_the_history_reads_anew) {
  write({balancer(kWeb)});
  latest();
  write({balancer(kWeb, 2)});
  write({balancer(kWeb, 3)});
  ASSERT_TRUE(world.run(store.compact(3)));
  EXPECT_EQ(latest()->balancer(kWeb)->metadata.generation, 3u);
}

TEST_F(ledger_memory, a_damaged_record_is_lost_with_its_key_and_spoils_nothing_that_stands) {
  write({balancer(kWeb)});
  latest();
  write({balancer(kWeb, 2), {"loadbalancers/prod/zzz", "rubbish"}});
  Result<LedgerMemory::Snapshot> read = world.run(memory.latest());
  EXPECT_EQ(read.outcome(), Outcome::lost);
  EXPECT_TRUE(read.error().message.starts_with("loadbalancers/prod/zzz: ")) << read.error().message;
  EXPECT_EQ(memory.remembered()->balancer(kWeb)->metadata.generation, 1u);
  // Whoever repairs it starts anew.
  write({balancer({"prod", "zzz"})});
  LedgerMemory fresh(store);
  EXPECT_EQ(world.run(fresh.latest()).value()->balancers.size(), 2u);
}

TEST_F(ledger_memory, a_record_under_the_key_of_another_is_damage) {
  Write moved = balancer(kWeb);
  moved.key = key_of(kBalancerPrefix, {"test", "web"});
  write({std::move(moved)});
  EXPECT_EQ(world.run(memory.latest()).outcome(), Outcome::lost);
}

TEST_F(ledger_memory, a_store_that_does_not_answer_is_asked_again) {
  store.read_failure = Error{Outcome::busy, "come back"};
  EXPECT_EQ(world.run(memory.latest()).outcome(), Outcome::busy);
  store.read_failure.reset();
  EXPECT_EQ(latest()->revision, 0u);
}

}  // namespace
}  // namespace isthmus::infra
