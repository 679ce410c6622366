#include "isthmus/infra/watch_stream.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/http_testing.h"
#include "isthmus/infra/instance_events.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;
using Type = api::WatchEvent::Type;

api::Instance a_machine(std::string uid, std::string name) {
  api::Instance machine;
  machine.uid = std::move(uid);
  machine.name = std::move(name);
  return machine;
}

class watch_stream : public testing::Test {
 protected:
  void put(std::string uid, std::string name) {
    ASSERT_TRUE(world.run(instances.put(a_machine(std::move(uid), std::move(name)), {})));
  }
  // What a client sees that stays for a while.
  Result<> watch_for(Duration time, Revision from) {
    return world.run(
        with_timeout(time, stream.serve(from, source, [this] { return allowed; }, {}, writer)));
  }
  std::vector<api::WatchEvent> events() {
    std::vector<api::WatchEvent> events;
    for (const std::string& line : writer.lines()) {
      events.push_back(api::decode_watch_event(line).value());
    }
    return events;
  }

  VirtualWorld world;
  Metrics metrics;
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
  Instances instances{*store, world.loop};
  InstanceEvents source{instances};
  WatchStream stream{*store, metrics};
  RecordingWriter writer;
  bool allowed = true;
};

TEST_F(watch_stream, tells_every_change_in_order) {
  put("a", "a1");
  put("a", "a2");
  ASSERT_TRUE(world.run(instances.retire("a", {})));
  EXPECT_EQ(watch_for(1s, 1).outcome(), Outcome::deadline);
  EXPECT_EQ(writer.response.status, 200);
  EXPECT_EQ(writer.response.headers.find("Content-Type"), "application/x-ndjson");
  auto told = events();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].type, Type::changed);
  EXPECT_EQ(told[0].instance->name, "a2");
  EXPECT_EQ(told[0].revision, 2u);
  EXPECT_EQ(told[1].type, Type::removed);
  EXPECT_EQ(told[1].instance->presence, api::Presence::absent);
  EXPECT_EQ(told[1].revision, 3u);
}

TEST_F(watch_stream, a_client_cut_off_inside_a_commit_gets_all_of_it_again) {
  put("x", "x");
  YamlMistakes mistakes;
  std::vector<InventoryLine> lines{{a_machine("a", "a"), 1}, {a_machine("b", "b"), 2}};
  ASSERT_EQ(world.run(instances.load(lines, mistakes)).value().changed.size(), 2u);
  watch_for(1s, 1).outcome();
  auto told = events();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].revision, 1u);
  EXPECT_EQ(told[1].revision, 2u);
  EXPECT_EQ(told[0].instance->revision, 2u);
}

TEST_F(watch_stream, a_large_commit_is_written_in_pieces_and_whole) {
  std::vector<InventoryLine> lines;
  for (int i = 0; i < 2000; ++i) {
    std::string name = "m" + std::to_string(i);
    lines.push_back({a_machine(name, name), i});
  }
  YamlMistakes mistakes;
  ASSERT_TRUE(world.run(instances.load(lines, mistakes)));
  writer.chunk_delay = 10ms;
  watch_for(1s, 0).outcome();
  EXPECT_EQ(events().size(), 2000u);
  EXPECT_GT(writer.chunks, 5u);
}

TEST_F(watch_stream, a_quiet_stream_carries_bookmarks) {
  put("a", "a");
  EXPECT_EQ(watch_for(3 * kBookmarkPeriod + 1s, 1).outcome(), Outcome::deadline);
  auto told = events();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[2].type, Type::bookmark);
  EXPECT_EQ(told[2].revision, 1u);
}

TEST_F(watch_stream, changes_of_no_interest_are_told_by_the_next_bookmark) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(world.run(store->commit({}, {{"other", "x"}})));
  EXPECT_EQ(watch_for(kBookmarkPeriod + 1s, 0).outcome(), Outcome::deadline);
  auto told = events();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].type, Type::bookmark);
  EXPECT_EQ(told[0].revision, 5u);
}

Task<Result<>> put_later(Instances& instances, Duration delay) {
  CO_TRY(co_await sleep_for(delay));
  CO_TRY(co_await instances.put(a_machine("late", "late"), {}));
  co_return Result<>{};
}

Task<Result<>> leave_later(RecordingWriter& writer, Duration delay) {
  CO_TRY(co_await sleep_for(delay));
  writer.client_left.set();
  co_return Result<>{};
}

bool always() { return true; }

Task<Result<>> watch_beside(WatchStream& stream, EventSource& source, RecordingWriter& writer,
                            Instances& instances) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(put_later, std::ref(instances), Duration(3s));
  scope.spawn(leave_later, std::ref(writer), Duration(5s));
  Result<> served = co_await stream.serve(0, source, always, {}, writer);
  Result<> others = co_await scope.join();
  CO_TRY(std::move(others));
  co_return served;
}

TEST_F(watch_stream, ends_when_its_client_leaves) {
  Result<> served = world.run(watch_beside(stream, source, writer, instances));
  EXPECT_EQ(served.outcome(), Outcome::lost);
  EXPECT_EQ(world.elapsed(), 5s);
  EXPECT_EQ(stream.open(), 0u);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].instance->name, "late");
}

TEST_F(watch_stream, from_a_revision_out_of_the_history_is_refused_before_it_begins) {
  put("a", "a1");
  put("a", "a2");
  ASSERT_TRUE(world.run(store->compact(2)));
  EXPECT_EQ(world.run(stream.check(1)).outcome(), kRevisionGone);
  EXPECT_EQ(world.run(stream.check(3)).outcome(), kRevisionGone);
  EXPECT_TRUE(world.run(stream.check(2)));
}

TEST_F(watch_stream, a_client_that_falls_behind_the_history_is_told_and_cut_off) {
  put("a", "a1");
  put("a", "a2");
  ASSERT_TRUE(world.run(store->compact(2)));
  EXPECT_EQ(watch_for(1h, 1).outcome(), Outcome::ok);
  auto told = events();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].problem->suffix(), api::problem::revision_gone);
  EXPECT_TRUE(writer.finished);
  EXPECT_LT(world.elapsed(), 1s);
}

TEST_F(watch_stream, a_damaged_record_ends_the_stream_with_a_problem) {
  ASSERT_TRUE(world.run(store->commit({}, {{"instances/a", "rubbish"}})));
  EXPECT_EQ(watch_for(1h, 0).outcome(), Outcome::ok);
  EXPECT_EQ(events()[0].problem->suffix(), api::problem::unavailable);
}

TEST_F(watch_stream, a_client_whose_token_is_taken_away_sees_no_more) {
  put("a", "a1");
  allowed = false;
  EXPECT_EQ(watch_for(1h, 0).outcome(), Outcome::ok);
  auto told = events();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].problem->suffix(), api::problem::unauthenticated);
  EXPECT_EQ(told[0].revision, 0u);
}

}  // namespace
}  // namespace isthmus::infra
