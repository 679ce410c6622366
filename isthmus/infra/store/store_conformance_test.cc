// What every engine of the store must do; an engine is added to the list at the end.
#include <gtest/gtest.h>

#include <functional>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

struct Engine {
  std::string name;
  std::function<std::unique_ptr<Store>()> open;
};

class store_conformance : public testing::TestWithParam<Engine> {
 protected:
  Result<Revision> commit(std::vector<Condition> conditions, std::vector<Write> writes) {
    return world.run(store->commit(std::move(conditions), std::move(writes)));
  }
  Revision put(std::string key, std::string value) {
    return commit({}, {{std::move(key), std::move(value)}}).value();
  }
  Result<Snapshot> read(Range range) { return world.run(store->read(std::move(range))); }
  Result<Changes> changes(std::string prefix, Revision after, std::size_t limit = 100) {
    return world.run(with_timeout(1s, store->watch(std::move(prefix), after, limit)));
  }

  VirtualWorld world;
  std::unique_ptr<Store> store = GetParam().open();
};

std::vector<std::string> keys(const Snapshot& snapshot) {
  std::vector<std::string> keys;
  for (const Entry& entry : snapshot.entries) keys.push_back(entry.key);
  return keys;
}

TEST_P(store_conformance, a_new_store_is_empty_and_at_revision_zero) {
  Snapshot snapshot = read({.prefix = ""}).value();
  EXPECT_EQ(snapshot.revision, 0u);
  EXPECT_TRUE(snapshot.entries.empty());
  EXPECT_FALSE(snapshot.more);
}

TEST_P(store_conformance, a_commit_raises_the_revision_by_one_and_all_its_keys_take_it) {
  EXPECT_EQ(commit({}, {{"a", "1"}, {"b", "2"}}).value(), 1u);
  EXPECT_EQ(put("c", "3"), 2u);
  Snapshot snapshot = read({.prefix = ""}).value();
  EXPECT_EQ(snapshot.revision, 2u);
  EXPECT_EQ(snapshot.entries, (std::vector<Entry>{{"a", "1", 1}, {"b", "2", 1}, {"c", "3", 2}}));
}

TEST_P(store_conformance, a_read_sees_only_its_prefix_in_the_order_of_keys) {
  commit({}, {{"n/b", "1"}, {"n/a", "2"}, {"m/z", "3"}, {"n", "4"}, {"o/a", "5"}}).value();
  EXPECT_EQ(keys(read({.prefix = "n/"}).value()), (std::vector<std::string>{"n/a", "n/b"}));
}

TEST_P(store_conformance, pages_of_a_snapshot_ignore_what_is_written_between_them) {
  commit({}, {{"a", "1"}, {"b", "1"}, {"c", "1"}}).value();
  Snapshot first = read({.prefix = "", .limit = 2}).value();
  EXPECT_TRUE(first.more);
  EXPECT_EQ(keys(first), (std::vector<std::string>{"a", "b"}));
  commit({}, {{"b", std::nullopt}, {"bb", "2"}, {"c", "2"}}).value();

  Snapshot second = read({.prefix = "", .after = "b", .limit = 2, .at = first.revision}).value();
  EXPECT_EQ(second.revision, first.revision);
  EXPECT_FALSE(second.more);
  EXPECT_EQ(second.entries, (std::vector<Entry>{{"c", "1", 1}}));
}

TEST_P(store_conformance, a_deleted_key_is_gone_now_and_there_before) {
  put("a", "1");
  commit({}, {{"a", std::nullopt}}).value();
  EXPECT_TRUE(read({.prefix = "a"}).value().entries.empty());
  EXPECT_EQ(keys(read({.prefix = "a", .at = 1}).value()), (std::vector<std::string>{"a"}));
  EXPECT_EQ(put("a", "2"), 3u);
}

TEST_P(store_conformance, a_condition_that_does_not_hold_writes_nothing) {
  put("a", "1");
  put("b", "1");
  EXPECT_EQ(commit({{"a", 1}, {"b", 1}}, {{"a", "2"}, {"c", "2"}}).outcome(), Outcome::conflict);
  EXPECT_EQ(commit({{"a", 0}}, {{"a", "2"}}).outcome(), Outcome::conflict);
  EXPECT_EQ(commit({{"never", 7}}, {{"a", "2"}}).outcome(), Outcome::conflict);
  Snapshot snapshot = read({.prefix = ""}).value();
  EXPECT_EQ(snapshot.revision, 2u);
  EXPECT_EQ(snapshot.entries, (std::vector<Entry>{{"a", "1", 1}, {"b", "1", 2}}));
}

TEST_P(store_conformance, conditions_that_hold_let_the_commit_through) {
  put("a", "1");
  EXPECT_EQ(commit({{"a", 1}, {"b", 0}}, {{"a", "2"}, {"b", "2"}}).value(), 2u);
  commit({}, {{"b", std::nullopt}}).value();
  EXPECT_EQ(commit({{"b", 0}}, {{"b", "again"}}).value(), 4u);
}

TEST_P(store_conformance, a_commit_without_writes_only_checks) {
  put("a", "1");
  EXPECT_EQ(commit({{"a", 1}}, {}).value(), 1u);
  EXPECT_EQ(commit({{"a", 2}}, {}).outcome(), Outcome::conflict);
}

TEST_P(store_conformance, keys_and_values_over_the_limits_are_invalid) {
  EXPECT_EQ(commit({}, {{std::string(kKeyBytesMax + 1, 'k'), "1"}}).outcome(), Outcome::invalid);
  EXPECT_EQ(commit({}, {{"", "1"}}).outcome(), Outcome::invalid);
  std::string big(kValueBytesMax + 1, 'v');
  EXPECT_EQ(commit({}, {{"a", "1"}, {"b", big}}).outcome(), Outcome::invalid);
  EXPECT_EQ(read({.prefix = ""}).value().revision, 0u);
}

TEST_P(store_conformance, a_watch_tells_every_change_in_order_with_deletions) {
  put("n/a", "1");
  commit({}, {{"n/b", "2"}, {"m/x", "2"}}).value();
  commit({}, {{"n/a", std::nullopt}}).value();
  Changes told = changes("n/", 0).value();
  EXPECT_EQ(told.revision, 3u);
  EXPECT_EQ(told.changes,
            (std::vector<Change>{{"n/a", "1", 1}, {"n/b", "2", 2}, {"n/a", std::nullopt, 3}}));
  EXPECT_EQ(changes("n/", 2).value().changes, (std::vector<Change>{{"n/a", std::nullopt, 3}}));
}

TEST_P(store_conformance, a_watch_never_splits_a_commit) {
  commit({}, {{"a", "1"}, {"b", "1"}, {"c", "1"}}).value();
  put("d", "2");
  Changes told = changes("", 0, 1).value();
  EXPECT_EQ(told.revision, 1u);
  EXPECT_EQ(told.changes.size(), 3u);
  EXPECT_EQ(changes("", 1, 1).value().changes, (std::vector<Change>{{"d", "2", 2}}));
}

Task<Result<>> commit_later(Store& store, Duration delay, std::string key) {
  CO_TRY(co_await sleep_for(delay));
  CO_TRY(co_await store.commit({}, {{std::move(key), "1"}}));
  co_return Result<>{};
}

Task<Result<Changes>> watch_while_committing(Store& store, std::string key) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(commit_later, std::ref(store), Duration(5s), std::move(key));
  Result<Changes> told = co_await store.watch("n/", 0, 100);
  Result<> committed = co_await scope.join();
  CO_TRY(std::move(committed));
  co_return told;
}

TEST_P(store_conformance, a_watch_waits_for_the_next_commit) {
  Result<Changes> told = world.run(watch_while_committing(*store, "n/a"));
  EXPECT_EQ(told.value().changes, (std::vector<Change>{{"n/a", "1", 1}}));
  EXPECT_EQ(world.elapsed(), 5s);
}

TEST_P(store_conformance, a_watch_answers_how_far_it_is_when_only_others_changed) {
  Changes told = world.run(watch_while_committing(*store, "m/a")).value();
  EXPECT_TRUE(told.changes.empty());
  EXPECT_EQ(told.revision, 1u);
}

TEST_P(store_conformance, a_watch_ends_with_its_scope) {
  EXPECT_EQ(changes("", 0).outcome(), Outcome::deadline);
  EXPECT_EQ(world.elapsed(), 1s);
}

TEST_P(store_conformance, the_future_is_not_in_the_history) {
  put("a", "1");
  EXPECT_EQ(read({.prefix = "", .at = 2}).outcome(), kRevisionGone);
  EXPECT_EQ(changes("", 2).outcome(), kRevisionGone);
}

TEST_P(store_conformance, compaction_forgets_the_history_and_nothing_that_stands) {
  put("a", "1");
  put("b", "2");
  put("a", "3");
  commit({}, {{"b", std::nullopt}}).value();
  put("c", "5");
  ASSERT_TRUE(world.run(store->compact(4)));

  EXPECT_EQ(read({.prefix = "", .at = 3}).outcome(), kRevisionGone);
  EXPECT_EQ(changes("", 3).outcome(), kRevisionGone);
  EXPECT_EQ(read({.prefix = "", .at = 4}).value().entries, (std::vector<Entry>{{"a", "3", 3}}));
  EXPECT_EQ(changes("", 4).value().changes, (std::vector<Change>{{"c", "5", 5}}));
  EXPECT_EQ(commit({{"b", 0}, {"a", 3}}, {}).value(), 5u);
}

TEST_P(store_conformance, compaction_never_goes_back_nor_beyond_the_newest) {
  put("a", "1");
  put("a", "2");
  ASSERT_TRUE(world.run(store->compact(100)));
  ASSERT_TRUE(world.run(store->compact(1)));
  EXPECT_EQ(read({.prefix = "", .at = 1}).outcome(), kRevisionGone);
  EXPECT_EQ(read({.prefix = "", .at = 2}).value().entries, (std::vector<Entry>{{"a", "2", 2}}));
}

INSTANTIATE_TEST_SUITE_P(engines, store_conformance,
                         testing::Values(Engine{
                             "sqlite", [] { return open_sqlite_store(":memory:").value(); }}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace isthmus::infra
