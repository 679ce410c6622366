#include "isthmus/infra/guarded_writer.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/faulty_store_testing.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

class guarded_writer : public testing::Test {
 protected:
  Result<Revision> commit(Revision lock_at, std::vector<Write> writes) {
    return world.run(writer.commit(lock_at, std::move(writes)));
  }

  VirtualWorld world;
  std::unique_ptr<Store> sqlite = open_sqlite_store(":memory:").value();
  FaultyStore store{*sqlite};
  GuardedWriter writer{store, world.loop, "the-lock"};
};

TEST_F(guarded_writer, a_change_takes_effect_where_the_lock_is_as_it_was_read) {
  EXPECT_EQ(commit(0, {{"a", "1"}}).value(), 1u);
  EXPECT_EQ(commit(1, {{"a", "2"}}).value(), 2u);
  EXPECT_EQ(commit(1, {{"a", "3"}}).outcome(), Outcome::conflict);
  EXPECT_EQ(commit(0, {{"b", "1"}}).outcome(), Outcome::conflict);
  EXPECT_EQ(commit(2, {{"a", std::nullopt}}).value(), 3u);
  EXPECT_FALSE(writer.trouble());
}

TEST_F(guarded_writer, conditions_of_the_callers_own_leave_the_lock_alone) {
  EXPECT_EQ(commit(0, {{"a", "1"}}).value(), 1u);
  std::vector<Condition> conditions{{"a", 1}};
  std::vector<Write> writes{{"a", "2"}};
  EXPECT_EQ(world.run(writer.commit(conditions, writes)).value(), 2u);
  EXPECT_EQ(world.run(writer.commit(conditions, writes)).outcome(), Outcome::conflict);
  EXPECT_EQ(commit(1, {{"b", "1"}}).value(), 3u);
}

TEST_F(guarded_writer, trouble_lasts_until_a_write_is_taken) {
  store.commit_failure = Error{Outcome::lost, "disk full"};
  EXPECT_EQ(commit(0, {{"a", "1"}}).outcome(), Outcome::lost);
  EXPECT_EQ(writer.trouble(), "disk full");
  store.commit_failure.reset();
  EXPECT_EQ(commit(7, {{"a", "1"}}).outcome(), Outcome::conflict);
  EXPECT_EQ(writer.trouble(), "disk full");
  EXPECT_TRUE(commit(0, {{"a", "1"}}));
  EXPECT_FALSE(writer.trouble());
}

}  // namespace
}  // namespace isthmus::infra
