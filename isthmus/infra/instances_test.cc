#include "isthmus/infra/instances.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

api::Instance a_machine(std::string uid, std::string name) {
  api::Instance machine;
  machine.uid = std::move(uid);
  machine.name = std::move(name);
  return machine;
}

class instances : public testing::Test {
 protected:
  InstancePlan put(Instances& where, api::Instance said) {
    return world.run(where.put(std::move(said), {})).value();
  }
  // How many records that changed.
  std::size_t load(std::vector<InventoryLine> lines) {
    Instances::Loaded loaded = world.run(ours.load(std::move(lines), mistakes)).value();
    return loaded.changed.size() + loaded.unknown.size() + loaded.retired.size();
  }
  Instances::Snapshot latest() { return world.run(ours.latest()).value(); }

  VirtualWorld world;
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
  Instances ours{*store, world.loop};
  YamlMistakes mistakes;
};

TEST_F(instances, what_was_put_is_there_with_the_revision_it_took) {
  InstancePlan plan = put(ours, a_machine("a", "n"));
  EXPECT_EQ(plan.record.instance.revision, 1u);
  EXPECT_EQ(latest()->revision, 1u);
  EXPECT_EQ(*latest()->find("a"), plan.record);
}

TEST_F(instances, what_was_written_here_is_remembered_without_being_asked_for) {
  put(ours, a_machine("a", "n"));
  ASSERT_NE(ours.remembered(), nullptr);
  EXPECT_NE(ours.remembered()->find("a"), nullptr);
}

TEST_F(instances, what_changes_nothing_raises_no_revision) {
  put(ours, a_machine("a", "n"));
  InstancePlan again = put(ours, a_machine("a", "n"));
  EXPECT_FALSE(again.write);
  EXPECT_EQ(latest()->revision, 1u);
}

TEST_F(instances, snapshots_stay_as_they_were) {
  put(ours, a_machine("a", "n"));
  Instances::Snapshot before = latest();
  put(ours, a_machine("a", "m"));
  put(ours, a_machine("b", "b"));
  EXPECT_EQ(before->find("a")->instance.name, "n");
  Instances::Snapshot then = world.run(ours.at(1)).value();
  EXPECT_EQ(then->records.size(), 1u);
  EXPECT_EQ(then->find("a")->instance.name, "n");
  EXPECT_EQ(world.run(ours.at(9)).outcome(), kRevisionGone);
}

TEST_F(instances, a_change_by_another_writer_is_seen) {
  Instances theirs(*store, world.loop);
  put(ours, a_machine("a", "a"));
  put(theirs, a_machine("b", "b"));
  EXPECT_EQ(latest()->records.size(), 2u);
  EXPECT_EQ(put(ours, a_machine("c", "b")).problem->suffix(), api::problem::already_used);
}

TEST_F(instances, a_memory_that_fell_behind_the_history_reads_anew) {
  Instances theirs(*store, world.loop);
  put(ours, a_machine("a", "a"));
  put(theirs, a_machine("a", "b"));
  put(theirs, a_machine("a", "c"));
  ASSERT_TRUE(world.run(store->compact(3)));
  EXPECT_EQ(latest()->find("a")->instance.name, "c");
}

TEST_F(instances, a_retired_machine_is_kept_as_retired) {
  put(ours, a_machine("a", "n"));
  ASSERT_FALSE(world.run(ours.retire("a", {})).value().problem);
  EXPECT_TRUE(latest()->find("a")->is_retired());
  EXPECT_EQ(world.run(ours.retire("a", {})).value().problem->suffix(),
            api::problem::instance_retired);
}

TEST_F(instances, a_file_is_loaded_in_one_commit_or_not_at_all) {
  EXPECT_EQ(load({{a_machine("a", "a"), 2}, {a_machine("b", "b"), 3}}), 2u);
  EXPECT_EQ(latest()->revision, 1u);
  EXPECT_EQ(load({{a_machine("a", "a"), 2}, {a_machine("b", "b"), 3}}), 0u);
  EXPECT_EQ(latest()->revision, 1u);

  put(ours, a_machine("p", "p"));
  EXPECT_EQ(load({{a_machine("a", "p"), 2}}), 0u);
  EXPECT_EQ(mistakes.count(), 1u);
  EXPECT_EQ(latest()->find("a")->instance.name, "a");
  EXPECT_EQ(latest()->find("b")->instance.presence, api::Presence::present);
}

TEST_F(instances, a_machine_in_the_file_was_confirmed_when_the_file_was_last_loaded) {
  load({{a_machine("a", "a"), 2}});
  WallTime first = world.loop.wall_now();
  put(ours, a_machine("p", "p"));
  ASSERT_EQ(world.run(with_timeout(1h, store->watch("", 2, 1))).outcome(), Outcome::deadline);
  EXPECT_EQ(ours.shown(*latest()->find("a")).last_confirmed_at, first);
  load({{a_machine("a", "a"), 2}});
  EXPECT_EQ(ours.shown(*latest()->find("a")).last_confirmed_at, first + 1h);
  EXPECT_EQ(ours.shown(*latest()->find("p")).last_confirmed_at, first);

  load({});
  EXPECT_EQ(ours.shown(*latest()->find("a")).last_confirmed_at, first + 1h);
  EXPECT_EQ(latest()->find("a")->instance.presence, api::Presence::unknown);
}

TEST_F(instances, a_damaged_record_is_lost_and_not_gone) {
  ASSERT_TRUE(world.run(store->commit({}, {{"instances/a", "rubbish"}, {"instances-lock", ""}})));
  EXPECT_EQ(world.run(ours.latest()).outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::infra
